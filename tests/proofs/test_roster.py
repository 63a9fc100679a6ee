"""Cases are handed out once, task by task; a second lane joins a task only where that pays."""

from __future__ import annotations

from devops_bench.proofs.roster import WORTH_JOINING, Roster


def test_a_lane_takes_groups_in_their_order_and_each_item_once() -> None:
    roster = Roster([("a", 1), ("b", 2), ("a", 3)])
    assert roster.join() == "a"
    assert [roster.take("a") for _ in range(3)] == [1, 3, None]
    assert roster.join() == "b"
    assert [roster.take("b") for _ in range(2)] == [2, None]
    assert roster.join() is None


def test_lanes_spread_over_groups_before_two_share_one() -> None:
    roster = Roster([("small", 0), *(("large", number) for number in range(4 * WORTH_JOINING))])
    assert [roster.join() for _ in range(5)] == ["small", "large", "large", "large", "large"]
    assert roster.join() is None
    seen = [roster.take("large") for _ in range(4 * WORTH_JOINING)]
    assert sorted(seen, key=str) == sorted(range(4 * WORTH_JOINING), key=str)


def test_nobody_joins_a_group_that_is_nearly_done() -> None:
    roster = Roster(("only", number) for number in range(2 * WORTH_JOINING))
    assert roster.join() == "only"
    roster.take("only")
    assert roster.join() is None


def test_after_a_drop_there_is_nothing() -> None:
    roster = Roster([("a", 1), ("b", 2)])
    assert roster.join() == "a"
    roster.drop()
    assert roster.take("a") is None
    assert roster.join() is None


def test_nothing_to_do_is_no_group() -> None:
    assert Roster[str, int]([]).join() is None
