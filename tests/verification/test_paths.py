"""Spellings of a path, and which elements it yields."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devops_bench.verification.ops import MISSING
from devops_bench.verification.paths import BadPath, TooManyMatches, compile_path, normalise

POD = {
    "spec": {
        "containers": [
            {"name": "x", "image": "a:1", "resources": {"limits": {"cpu": "1"}}, "ports": [{"port": 1}, {"name": "p"}]},
            {"name": "y", "image": "b:1"},
        ]
    },
    "metadata": {"labels": {"app.kubernetes.io/name": "web", "tier-1": "a"}, "annotations": {"a.b/c": "d"}},
}


@pytest.mark.parametrize(
    ("path", "values"),
    [
        ("spec.containers[0].image", ["a:1"]),
        ("$.spec.containers[0].image", ["a:1"]),
        (".spec.containers[0].image", ["a:1"]),
        ("{.spec.containers[0].image}", ["a:1"]),
        ("$['spec']['containers'][0].image", ["a:1"]),
        ("spec.containers[-1].image", ["b:1"]),
        ("spec.containers[*].image", ["a:1", "b:1"]),
        ("spec.containers[*].resources.limits.cpu", ["1", MISSING]),
        ("spec.containers[?(@.name=='y')].image", ["b:1"]),
        ("spec.containers[?(@.name=='y')].resources.limits.cpu", [MISSING]),
        ("spec.containers[?(@.name=='z')].image", [MISSING]),
        ('spec.containers[?@.name=="x"].image', ["a:1"]),
        ("spec.containers[*].ports[*].port", [1, MISSING]),
        ("spec.containers[0:1].name", ["x"]),
        ("spec.initContainers[*].image", [MISSING]),
        ("spec.containers", [POD["spec"]["containers"]]),
        ("spec.containers.image", [MISSING]),
        ("metadata.labels['app.kubernetes.io/name']", ["web"]),
        ("metadata.labels.app\\.kubernetes\\.io/name", ["web"]),
        ("metadata.labels.tier-1", ["a"]),
        ("metadata.annotations.a\\.b/c", ["d"]),
        ("$..image", ["a:1", "b:1"]),
        ("metadata.labels.*", ["web", "a"]),
    ],
)
def test_a_path_yields_one_value_per_element(path: str, values: list[Any]) -> None:
    assert compile_path(path).values(POD) == values


@pytest.mark.parametrize(
    "path", ["", "$", ".", "a.", "a[", "a[?(@.x==]", "a[?@.x =~ /y/]", "a[?match(@.x, 'y')]", "a...b", "{", "a | b"]
)
def test_what_is_no_path_is_said_so(path: str) -> None:
    with pytest.raises(BadPath) as caught:
        compile_path(path).values({"a": 1})
    assert "\n" not in str(caught.value)


def test_a_quoted_name_may_look_like_a_pattern() -> None:
    assert compile_path("a[?@.x=='=~'].y").values({"a": [{"x": "=~", "y": 1}]}) == [1]


def test_a_path_that_explodes_over_a_hostile_object_ends() -> None:
    wide: Any = "leaf"
    for _ in range(5):
        wide = {str(n): wide for n in range(10)}
    with pytest.raises(TooManyMatches):
        compile_path("$..*").values(wide)
    deep: Any = {}
    for _ in range(500):
        deep = {"a": deep}
    with pytest.raises(TooManyMatches):
        compile_path("$..zzz").values(deep)


@pytest.mark.parametrize("document", ["text", "[1]", 5, None, True, []])
def test_a_document_that_is_no_mapping_has_no_fields(document: Any) -> None:
    assert compile_path("a.b").values(document) == [MISSING]


@given(st.text(alphabet="ab.[]*'\"\\$?@(){}/=~ 0-,:", max_size=24))
def test_any_text_is_a_path_or_a_clear_no(text: str) -> None:
    try:
        compile_path(text).values({"a": [{"b": "1"}], "b": {"a": 2}})
    except (BadPath, TooManyMatches) as error:
        assert str(error)


_NAMES = st.text(
    alphabet=st.characters(blacklist_characters="\\'", blacklist_categories=["Cs", "Cc"]), min_size=1, max_size=6
).filter(lambda name: name == name.strip())


@given(st.lists(_NAMES, min_size=1, max_size=4))
def test_escaped_names_find_their_field(names: list[str]) -> None:
    document: Any = "leaf"
    for name in reversed(names):
        document = {name: document}
    path = "$." + ".".join("".join(c if c.isalnum() else f"\\{c}" for c in name) for name in names)
    assert compile_path(path).values(document) == ["leaf"], normalise(path)
