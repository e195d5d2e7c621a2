"""What a write has seen, and when it is believed."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_coordination.delivery.counting import SUMS, tally_of
from airflow_coordination.delivery.observing import MOST_BLOCKS, agreed, can_be_observed, tally_seen
from airflow_coordination.delivery.routing import DeadLetters, Publish, Routing
from airflow_coordination.systems.objects.sink import FileSink

A, B = Publish("a"), Publish("b", where="k > 1")


def routing(drop: tuple[str, ...] = (), dead: str | None = None, **sinks: Any) -> Routing:
    return Routing(None, "k", sinks, dict.fromkeys(drop, "k = 0"), DeadLetters("dead", where=dead) if dead else None)


def numbers(routes: dict[int, int], **sums: int) -> dict[str, int | None]:
    """Return an observation of one block, without a condition before it."""
    return {str(each): routes.get(each, 0) for each in (0, 1)} | {f"{name} 0": sums.get("each") for name in SUMS}


@pytest.mark.parametrize(
    ("sinks", "expected"),
    [
        ({"a": A}, True),
        ({"a": A, "b": B}, True),
        ({"a": Publish("a", format="orc")}, False),
        ({"a": A, "b": Publish("b", format="json")}, False),
        ({"a": A, "files": FileSink("/tmp/files")}, False),
        ({str(each): Publish(str(each)) for each in range(MOST_BLOCKS)}, True),
        ({str(each): Publish(str(each)) for each in range(MOST_BLOCKS + 1)}, False),
    ],
)
def test_w4_only_blocks_with_footers_count_by_their_writes(sinks: dict[str, Any], expected: bool) -> None:
    assert can_be_observed(routing(**sinks)) is expected


def test_s13_what_was_seen_is_a_tally_with_the_sums_of_who_was_owed_something() -> None:
    of = routing(("r",), "k = 9", a=A, b=B)
    seen: dict[str, int | None] = {"-2": 4, "-1": 2, "0": 1, "1": 8, "2": 0, "3": 0}
    seen |= {
        f"{name} {sink}": None if sink == 1 else 10 * sink + place
        for place, name in enumerate(SUMS)
        for sink in range(3)
    }
    expected = tally_of([(-2, 4), (-1, 2), (0, 1), (1, 8)], sinks=2, reasons=1)
    expected.sums = {0: [0, 1, 2, 3], 2: [20, 21, 22, 23]}
    assert tally_seen(of, seen) == expected


def test_s13_nothing_seen_is_no_tally_and_no_record_is_one() -> None:
    assert tally_seen(routing(a=A), {}) is None
    assert tally_seen(routing(a=A), numbers({})) == tally_of([], 1, 0)


def test_s13_what_was_seen_is_believed_where_the_footers_hold_as_much() -> None:
    tally = tally_seen(routing(a=A), numbers({0: 1, 1: 8}, each=5))
    assert tally is not None
    assert agreed(routing(a=A), {"a": tally}, {"a": 8}) is tally


@pytest.mark.parametrize("rows", [0, 7, 9, 16])
def test_s13_a_task_that_counted_twice_or_not_at_all_is_not_believed(
    rows: int, caplog: pytest.LogCaptureFixture
) -> None:
    tally = tally_seen(routing(a=A), numbers({1: 8}, each=5))
    assert tally is not None
    assert agreed(routing(a=A), {"a": tally}, {"a": rows}) is None
    assert f"Blocks were owed [8] records as they were written, their files hold [{rows}]" in caplog.text


@pytest.mark.parametrize("differs", ["read", "sums", "missing"])
def test_s13_writes_that_have_seen_other_records_are_not_believed(differs: str) -> None:
    of = routing(a=A, b=B)
    one, other = (tally_of([(0, 1), (3, 8)], 2, 0) for _ in range(2))
    tallies = {"a": one, "b": other}
    if differs == "read":
        other.read, other.unrouted = 10, 2
    elif differs == "sums":
        other.add_sums(0, [1, 1, 1, 1])
    else:
        del tallies["b"]
    assert agreed(of, tallies, {"a": 8, "b": 8}) is None
    assert agreed(of, {"a": one, "b": one}, {"a": 8, "b": 8}) is one
