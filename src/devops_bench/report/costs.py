"""Is the cost of a run the whole cost? A model without a price counts as nothing, in sums and in budgets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from devops_bench.matrix.plan import NO_MODEL
from devops_bench.models.providers import is_scripted
from devops_bench.plaintext import counted
from devops_bench.report.model import Combo


def warnings(combos: Iterable[Combo]) -> tuple[str, ...]:
    """One line where combos used tokens of a model at a cost that nobody knows."""
    unknown = Counter(
        combo.model
        for combo in combos
        if combo.cost_usd is None
        and (combo.tokens.total or combo.model_turns)
        and combo.harness not in NO_MODEL
        and not is_scripted(combo.model)
    )
    if not unknown:
        return ()
    models = ", ".join(f"{model} ({counted(count, 'combo')})" for model, count in sorted(unknown.items()))
    return (f"the cost is incomplete: it is not known for {models}, which counts as 0 in sums and budgets",)
