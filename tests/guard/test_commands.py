"""What may run and what may not: by example, and by properties that hold for every spelling."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devops_bench.guard import GUARDED, GuardContext, Rule, judge_command
from tests.guard.commands import ALLOWED, BLOCKED, OWN


def judge(line: str, context: GuardContext = OWN) -> Rule | None:
    found = judge_command(shlex.split(line), context, cwd="/workspace")
    return found.rule if found is not None else None


@pytest.mark.parametrize("line", ALLOWED)
def test_allowed(line: str) -> None:
    assert judge(line) is None


@pytest.mark.parametrize(("rule", "line"), BLOCKED)
def test_blocked(rule: Rule, line: str) -> None:
    assert judge(line) is rule


def test_the_table_is_large_and_covers_every_tool() -> None:
    assert len(ALLOWED) + len(BLOCKED) >= 160
    for tool in GUARDED:
        assert any(tool in line.split() for line in ALLOWED), tool
        assert any(tool in line.split() for _rule, line in BLOCKED), tool


@pytest.mark.parametrize(
    "line",
    [
        *("kubectl apply -f x", "helm upgrade a b", "gcloud container clusters delete own", "kind delete cluster"),
        *("aws eks delete-cluster --name x", "az aks delete -n x"),
    ],
)
def test_without_a_cluster_of_its_own_every_change_of_one_is_foreign(line: str) -> None:
    assert judge(line, GuardContext()) is not None


def test_a_refusal_is_one_clear_line_for_the_agent() -> None:
    found = judge_command(["kubectl", "--context", "other", "delete", "pod", "x"], OWN)
    assert found is not None
    assert found.text.startswith("kubectl: refused: context other is not of this task.")
    assert "\n" not in found.text and "bench" not in found.text.lower()
    assert found.command == "kubectl --context other delete pod x"
    hostile = judge_command(["kubectl", "--context", "a\n\x1b[31m" + "b" * 10_000, "delete", "pod"], OWN)
    assert hostile is not None and len(hostile.command) <= 300 and "\x1b" not in hostile.command


CONFIG = """\
current-context: {current}
contexts:
- {{name: agent, context: {{cluster: c}}}}
- {{name: other, context: {{cluster: d}}}}
- {{name: alias, context: {{cluster: c}}}}
clusters:
- {{name: c, cluster: {{server: "https://127.0.0.1:6443"}}}}
- {{name: d, cluster: {{server: "https://10.0.0.1:6443"}}}}
"""


@pytest.mark.parametrize(
    ("line", "current", "allowed"),
    [
        ("kubectl delete pod x", "agent", True),
        ("kubectl delete pod x", "other", False),
        ("kubectl --context agent delete pod x", "other", True),
        ("kubectl --context alias delete pod x", "other", True),
        ("kubectl --context other delete pod x", "agent", False),
        ("kubectl --context missing delete pod x", "agent", False),
        ("kubectl --cluster d delete pod x", "agent", False),
        ("kubectl --cluster c --context other delete pod x", "agent", True),
        ("helm upgrade web .", "other", False),
        ("helm upgrade web . --kube-context alias", "other", True),
        ("kubectl config use-context alias", "other", True),
        ("kubectl config use-context other", "agent", False),
        ("kubectl get pods", "other", True),
    ],
)
def test_the_kubeconfig_itself_decides_when_it_is_known(line: str, current: str, allowed: bool) -> None:
    configs = {"/tmp/copy.yaml": CONFIG.format(current=current)}
    assert (judge_command(shlex.split(line), OWN, configs=configs) is None) is allowed


@pytest.mark.parametrize(
    "text",
    ["[", "[" * 60_000, "clusters: []\nclusters: [{name: c}]", "clusters: 5", "clusters: [1]", "- x", "x" * 300_000],
)
def test_a_kubeconfig_that_cannot_be_read_changes_nothing(text: str) -> None:
    assert judge_command(["kubectl", "delete", "pod", "x"], OWN, configs={"/x": text}) is not None


@pytest.mark.parametrize("form", ["[{}]", "{{<<: [{}]}}"])
def test_a_kubeconfig_made_to_fill_the_memory_is_refused(form: str) -> None:
    levels = [f"a{at}: &a{at} {form.format(', '.join([f'*a{at - 1}'] * 10))}" for at in range(1, 12)]
    text = "\n".join(["a0: &a0 {x: y}", *levels, CONFIG.format(current="agent"), "more: {name: *a11}"])
    assert judge_command(["kubectl", "delete", "pod", "x"], OWN, configs={"/x": text}) is not None


def test_of_several_kubeconfigs_the_first_wins() -> None:
    foreign, own = CONFIG.format(current="other"), CONFIG.format(current="agent")
    delete = ["kubectl", "delete", "pod", "x"]
    assert judge_command(delete, OWN, configs={"/a": foreign, "/b": own}) is not None
    assert judge_command(delete, OWN, configs={"/a": own, "/b": foreign}) is None
    assert judge_command(delete, OWN, configs={"/a": ""}) is None, "kubectl itself says that there is none"


GLOBAL_FLAGS = ["--request-timeout=5s", "-v=6", "--v=2", "--insecure-skip-tls-verify", "--as=x", "--namespace=shop"]
names = st.from_regex(r"[a-z][a-z0-9-]{0,20}", fullmatch=True).filter(lambda name: name not in {"own", "agent"})


@given(names, st.lists(st.sampled_from(GLOBAL_FLAGS), max_size=4), st.integers(0, 6), st.booleans())
def test_a_foreign_context_is_seen_wherever_it_stands(name: str, flags: list[str], at: int, joined: bool) -> None:
    words = ["delete", "pod", "x", *flags]
    option = [f"--context={name}"] if joined else ["--context", name]
    words[min(at, len(words)) : min(at, len(words))] = option
    assert judge_command(["kubectl", *words], OWN) is not None


@given(names, st.permutations(["--quiet", "--async", "--zone=us-central1", "--project=p"]), st.integers(0, 4))
def test_a_foreign_cluster_is_seen_among_any_flags(name: str, flags: list[str], at: int) -> None:
    words = list(flags)
    words.insert(at, name)
    assert judge_command(["gcloud", "container", "clusters", "delete", *words], OWN) is not None
    words[words.index(name)] = "own"
    assert judge_command(["gcloud", "container", "clusters", "delete", *words], OWN) is None


@given(st.lists(st.text(max_size=12), max_size=8), st.sampled_from(GUARDED))
def test_no_argument_list_breaks_it(words: list[str], tool: str) -> None:
    judge_command([tool, *words], OWN, cwd="/workspace", configs={"/x": "\n".join(words)})


@given(st.lists(st.sampled_from(["-n", "x", "--context", "other", "-o", "yaml", "-A", "--all", "pods"]), max_size=8))
def test_reading_first_is_never_refused(words: list[str]) -> None:
    assert judge_command(["kubectl", "get", *words], OWN) is None
