"""All objects of a cluster, kind by kind."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from devops_bench.kube import KubeClient, KubeError

AT_ONCE = 8


def every_kind(
    kube: KubeClient, *, besides: Collection[str] = (), metadata_only: bool = False
) -> Iterator[tuple[str, Sequence[dict[str, Any]]]]:
    """Each kind that can be listed (`plural.group`) with its objects; plural names in `besides` are left out.

    Raises KubeError.
    """
    listable = [kind for kind in kube.kinds().resources if "list" in kind.verbs and kind.plural not in besides]
    kinds = sorted({f"{kind.plural}.{kind.group}" if kind.group else kind.plural for kind in listable})

    def items(kind: str) -> Sequence[dict[str, Any]]:
        try:
            return kube.list_with_version(kind, metadata_only=metadata_only).items
        except KubeError as error:
            if error.status in {404, 405}:  # gone since discovery, or not to be listed after all
                return ()
            raise

    with ThreadPoolExecutor(AT_ONCE) as pool:
        yield from zip(kinds, pool.map(items, kinds), strict=True)
