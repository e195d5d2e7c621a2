"""Fences, owners, identifiers, endings, partitions, blocks."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.protocol.algebra import ring_entry
from airflow_coordination.protocol.partition import Partition, PartitionIdentifier
from airflow_coordination.stores import open_store
from airflow_coordination.testing.conformance.fixtures import block
from airflow_coordination.values.accounting import Accounting, SinkCounts
from airflow_coordination.values.blocks import MAX_BLOCKS_BYTES, Block, dump_blocks, load_blocks, merge
from airflow_coordination.values.fence import RING_SIZE, Ending, Fence, Owner, Place
from airflow_coordination.values.input_errors import InvalidInputError, InvalidKeyError, PayloadError
from airflow_coordination.values.status import Outcome, PartitionStatus
from airflow_coordination.values.times import from_micros, positive, to_micros

NOW = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)


def test_a_fence_is_written_and_read() -> None:
    fence = Fence(7, "3f9c1a")
    assert str(fence) == "7-3f9c1a"
    assert Fence.parse("7-3f9c1a") == fence


@pytest.mark.parametrize("text", ["", "7", "7-", "-3f9c", "x-3f9c", "٧-3f9c", "-7-3f9c", "7.0-3f9c"])
def test_what_is_no_fence_is_refused(text: str) -> None:
    with pytest.raises(InvalidInputError, match=r"is not of the form token-nonce\. Copy it whole") as refused:
        Fence.parse(text)
    assert (refused.value.field, refused.value.value) == ("fence", text)


def test_an_owner_names_its_task_and_try() -> None:
    owner = Owner.of_task("host", "flights", "scheduled__2026-01-01T00:00:00+00:00", "process", 3, 2)
    assert owner.text == "host/flights/scheduled__2026-01-01T00:00:00+00:00/process/3/2"
    assert (owner.try_number, owner.dag) == (2, "flights")
    assert owner.task == "flights/scheduled__2026-01-01T00:00:00+00:00/process/3"


def test_one_task_on_another_host_and_try_is_the_same_task() -> None:
    tries = {Owner.of_task(f"host-{number}", "d", "r", "t", -1, number).task for number in (1, 2, 10)}
    assert len(tries) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("h", "a/b", "r", "t"), ("h", "a", "b/r", "t")),
        (("h", "d", "r%2F", "t"), ("h", "d", "r/", "t")),
        (("h", "d", "r", "t/1"), ("h", "d", "r", "t")),
    ],
)
def test_parts_with_slashes_stay_apart(one: tuple[str, str, str, str], other: tuple[str, str, str, str]) -> None:
    first, second = (Owner.of_task(*parts, 1, 1) for parts in (one, other))
    assert first.task != second.task
    assert first.dag == one[1]
    assert first.try_number == 1


@pytest.mark.parametrize("text", ["me", "a/b", "a/b/c/d/e/f", "a/b/c/d/e/f/1", "h/d/r/t/3/²"])
def test_other_owners_are_no_airflow_task(text: str) -> None:
    owner = Owner(text)
    assert (owner.task, owner.try_number, owner.dag) == (text, 0, None)


PRODUCTION = Place("production", "5f0c1d2e", "4711.88")


def test_e6_an_owner_says_where_it_is_and_is_read_as_before() -> None:
    before = Owner.of_task("host", "a;b", "r", "t", 0, 2)
    owner = Owner.of_task("host", "a;b", "r", "t", 0, 2, PRODUCTION)
    assert owner.text == "host;airflow=production;boot=5f0c1d2e;process=4711.88/a%3Bb/r/t/0/2"
    assert (owner.place, before.place) == (PRODUCTION, Place())
    assert (owner.plain, owner.instance, owner.task) == (before.text, before.instance, before.task)
    parts = owner.text.split("/")  # so older code reads a text: a retry of it finds what this code holds
    assert (len(parts), "/".join(parts[1:5]), parts[5]) == (6, before.task, "2")


def test_e6_an_owner_that_is_no_task_says_where_it_is_and_stays_itself() -> None:
    owner = Owner.of_process("host:4711:ab", PRODUCTION)
    assert (owner.plain, owner.place, owner.try_number) == ("host:4711:ab", PRODUCTION, 0)
    assert owner.is_also(owner.text)
    assert not owner.is_also("host:4711:ab")
    assert Owner("a;b=c/d").plain == "a;b=c/d"


@pytest.mark.parametrize(
    ("mine", "theirs", "same"),
    [
        ("one", "one", True),
        ("one", "other", False),
        ("one", None, True),  # older code: its word is taken as it was
        (None, "one", False),
        (None, None, True),
    ],
)
def test_e6_a_task_of_another_airflow_is_somebody_else(mine: str | None, theirs: str | None, same: bool) -> None:
    me, holder = (Owner.of_task("h", "d", "r", "t", 0, 1, Place(name)) for name in (mine, theirs))
    assert me.is_also(holder.text) is same
    assert not me.is_also(Owner.of_task("h", "d", "r", "other", 0, 1, Place(theirs)).text)
    assert not me.is_also(None)


@pytest.mark.parametrize(
    ("arguments", "error", "field"),
    [
        ({"key": ""}, InvalidKeyError, "key"),
        ({"key": "k", "payload": [1]}, PayloadError, "payload"),
        ({"key": "k", "priority": 1.0}, InvalidInputError, "priority"),
        ({"key": "k", "priority": True}, InvalidInputError, "priority"),
        ({"key": "k", "priority": 2**31}, InvalidInputError, "priority"),
    ],
)
def test_an_identifier_that_cannot_be_stored_names_the_field(
    arguments: dict[str, Any], error: type[InvalidInputError], field: str
) -> None:
    with pytest.raises(error) as refused:
        PartitionIdentifier(**arguments)
    assert refused.value.field == field


def test_an_ending_is_read_from_its_ring_entry() -> None:
    entry = ring_entry((9, "abc", Outcome.GIVEN_UP, "op", "before", PartitionStatus.UNASSIGNED, 2, NOW))
    assert entry == "9|abc|given up|op|before|UNASSIGNED|2|1767323045678901"
    assert Ending.parse(entry) == Ending(
        Outcome.GIVEN_UP, Fence(9, "abc"), NOW, "op", "before", PartitionStatus.UNASSIGNED, 2
    )
    assert str(Ending.parse(entry)) == "given up at 2026-01-02T03:04:05+00:00"


def test_times_go_to_microseconds_and_back() -> None:
    for moment in (
        NOW,
        NOW + timedelta(microseconds=1),
        datetime(1970, 1, 1, tzinfo=UTC),
        datetime(9999, 1, 1, tzinfo=UTC),
    ):
        assert from_micros(to_micros(moment)) == moment


def test_a_slot_of_the_ring_holds_one_tenure_only() -> None:
    entry = ring_entry((1, "abc", Outcome.LOST, "op", "abc", PartitionStatus.UNASSIGNED, 0, NOW))
    ring = tuple(entry if slot == 1 else None for slot in range(RING_SIZE))
    now = Partition(source="s", key="k", status=PartitionStatus.UNASSIGNED, token=1, nonce="abc", ring=ring)
    assert now.ending_of(Fence(1, "abc")) is not None
    assert now.ending_of(Fence(1, "another")) is now.ending_of(Fence(1 + RING_SIZE, "abc")) is None


@pytest.mark.parametrize(
    ("value", "zero", "problem"),
    [
        (timedelta(seconds=-1), True, "is negative"),
        (timedelta(0), False, "is zero"),
        (5, False, "is int, not a timedelta"),
    ],
)
def test_a_duration_that_makes_no_sense_names_the_field(value: Any, zero: bool, problem: str) -> None:
    with pytest.raises(InvalidInputError, match=f"ownership_timeout=.*{problem}"):
        positive("ownership_timeout", value, zero=zero)
    assert positive("ownership_timeout", None) is None
    assert positive("retry_delay", timedelta(0), zero=True) == timedelta(0)


@pytest.mark.parametrize("field", ["dataset", "address", "digest"])
def test_a_block_without_a_name_is_refused(field: str) -> None:
    fields: dict[str, Any] = {"dataset": "d", "address": "a", "digest": "x", field: ""}
    with pytest.raises(InvalidInputError, match=f"block.{field}='': is empty"):
        Block(**fields)


def test_blocks_go_to_text_and_back() -> None:
    blocks = (block("b1"), block("b2", dataset="é", follows="b1", mode="append"))
    assert load_blocks(dump_blocks(blocks)) == blocks
    assert load_blocks(None) == ()


def test_too_many_blocks_are_refused_with_the_remedy() -> None:
    many = [block(f"{number:060}") for number in range(MAX_BLOCKS_BYTES // 100)]
    with pytest.raises(InvalidInputError, match=r"the limit is 65536. Publish with lease.publish"):
        dump_blocks(many)


def test_merging_adds_each_block_once_and_replaces_what_it_follows() -> None:
    first, second = block("b1", rows=1), block("b2", rows=2, follows="b1")
    assert merge([first], [first]) == (first,)
    [chained] = merge([first], [second])
    assert (chained.digest, chained.follows, chained.rows, chained.bytes) == ("b2", None, 3, 300)
    elsewhere = block("b2", dataset="other", follows="b1")
    assert merge([first], [elsewhere]) == (first, elsewhere)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            {"sinks": {"a": (1, 1, 0, 0)}},
            "sinks['a']=(1, 1, 0, 0): is tuple, not the counts of a sink. Give Sink",
        ),
        ({"sinks": {"a": SinkCounts}}, "sinks['a']=<class "),
        ({"sinks": [SinkCounts()]}, "sinks=[SinkCounts("),
        ({"dropped": None}, "dropped=None: is NoneType, no mapping. Give {name: …}"),
    ],
)
def test_small_x7_an_accounting_of_what_are_no_counts_is_refused(given: Any, said: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        Accounting(**given)
    assert str(refused.value).startswith(said)


@pytest.mark.parametrize(("by", "why", "field"), [("a", None, "why"), (None, "b", "by"), (5, "b", "by")])
def test_small_x7_who_acts_and_why_is_text(by: Any, why: Any, field: str) -> None:
    c = SourceCoordinator(open_store("memory://"), "flights", "me")
    for act in (c.pausing.pause, c.pausing.resume):
        with pytest.raises(InvalidInputError, match=rf"^{field}=(None|5): is (NoneType|int), not text\. Say who acts"):
            act(by=by, why=why)


@pytest.mark.parametrize("before", [timedelta(days=1), None, "2026-01-01", NOW.replace(tzinfo=None)])
def test_small_x7_completed_before_is_a_moment(before: Any) -> None:
    c = SourceCoordinator(open_store("memory://"), "flights", "me")
    with pytest.raises(InvalidInputError, match=r"^completed_before=.*Give it with a time zone, such as UTC"):
        c.cleaning.purge(before, by="a", why="b")
