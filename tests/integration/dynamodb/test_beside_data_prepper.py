"""Data Prepper at work on a table that was taken over from it: seen wherever it has written, and the way back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from airflow_coordination.leases import Lease, PartitionStatus, SchemaVersionError, SourceCoordinator
from airflow_coordination.protocol.results import Swept
from airflow_coordination.stores.diagnostics import Finding, Verdict
from airflow_coordination.stores.dynamodb.setup.examination import examine
from airflow_coordination.stores.dynamodb.setup.iam import Role
from benchmarks.dynamodb.requests import Requests
from tests.integration.dynamodb.data_prepper import BASE, DataPrepper
from tests.integration.dynamodb.engine import Engine
from tests.integration.dynamodb.snapshot import MINUTE, Snapshot, coordinator, drained, in_every_state, key
from tests.integration.dynamodb.table import acquired, found

CALLS: dict[str, Callable[[SourceCoordinator], object]] = {
    "acquire": lambda one: one.get_next_partition(),
    "acquire by key": lambda one: one.get_next_partition(hint=key(0)),
    "hints": lambda one: one.claimable(),
    "one": lambda one: one.partition(key(0)),
    "page": lambda one: one.partitions(),
    "count": lambda one: one.counts(),
    "sweep": lambda one: one.sweep(),
    "release": lambda one: one.people.release(key(0), by="ana", why="stuck"),
    "create": lambda one: one.create_partitions([key(0)]),
}


@pytest.fixture
def snapshot(local: Engine, local_table: str) -> Snapshot:
    return Snapshot(local, local_table, "02")


@pytest.fixture
def prepper(snapshot: Snapshot) -> DataPrepper:
    return DataPrepper(snapshot.engine.client, snapshot.table, snapshot.clock)


def one_more(snapshot: Snapshot) -> SourceCoordinator:
    """Return what a process has that starts now."""
    return coordinator(snapshot.store(), snapshot.clock)


def test_every_step_names_an_item_that_data_prepper_has_written(snapshot: Snapshot, prepper: DataPrepper):
    """Its put replaces the item whole, and our attributes are gone: never a KeyError, never "nothing to do"."""
    snapshot.taken_over()
    assert prepper.acquire() == key(0)
    snapshot.clock.advance(11 * MINUTE)
    messages = set()
    for call in CALLS.values():
        with pytest.raises(SchemaVersionError) as seen:
            call(one_more(snapshot))
        messages.add(str(seen.value))
    assert messages == {
        f"Store {snapshot.store().description}: item 'my-bucket|logs/2026/part-0000.json' of "
        "'env1|s3-pipeline|PARTITION' was written by Data Prepper, or by hand, under the name of "
        "'env1|s3-pipeline:node-a', after this package took the table over. Two programs with different rules on one "
        "table lose work. Stop Data Prepper's pipelines on it. Run `airflow coordination store migrate --conn-id ID` "
        "(without Airflow: `python -m airflow_coordination store migrate --store URL`)"
    }


OWNERS: dict[str, Callable[[SourceCoordinator, Lease], object]] = {
    "renew": lambda one, lease: one.renew(lease),
    "save": lambda one, lease: one.save_progress_state(lease, {"row": 1}),
    "complete": lambda one, lease: one.complete(lease),
    "fail": lambda one, lease: one.fail(lease, "no"),
}


@pytest.mark.parametrize("name", OWNERS)
def test_an_owner_learns_that_data_prepper_has_its_partition(snapshot: Snapshot, prepper: DataPrepper, name: str):
    """Nothing it writes counts any more, and the error says who is to blame."""
    one = snapshot.taken_over()
    lease = acquired(one.get_next_partition())
    snapshot.clock.advance(11 * MINUTE)
    assert prepper.acquire() == lease.key
    with pytest.raises(SchemaVersionError, match="was written by Data Prepper"):
        OWNERS[name](one, lease)


LEFT: dict[str, Callable[[DataPrepper, str], object]] = {
    "holds": lambda prepper, taken: None,
    "has completed": lambda prepper, taken: prepper.complete(taken),
    "has closed": lambda prepper, taken: prepper.close(taken, 60 * MINUTE),
}
LOOKS = ("acquire", "hints", "sweep")


@pytest.mark.parametrize("name", LOOKS)
@pytest.mark.parametrize("what", LEFT)
def test_c3_it_is_never_nothing_to_do(snapshot: Snapshot, prepper: DataPrepper, what: str, name: str):
    """C3: what Data Prepper holds, has completed or has closed is named, by old processes and new ones."""
    one = snapshot.taken_over()
    assert one.claimable()
    for taken in list(iter(prepper.acquire, None)):
        LEFT[what](prepper, taken)
    for process in (one, one_more(snapshot)):
        with pytest.raises(SchemaVersionError, match="was written by Data Prepper") as seen:
            CALLS[name](process)
        assert "under the name of 'env1|s3-pipeline:node-a'" in str(seen.value) or what != "holds"


OTHERS: dict[str, Callable[[SourceCoordinator], object]] = {
    "create": lambda one: one.create_partitions(["of its own"]),
    "reset": lambda one: one.people.reset(key(8), by="ana", why="again"),
    "park": lambda one: one.people.park(key(8), by="ana", why="wait"),
}


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("what", LEFT)
def test_peer_p6_what_concerns_others_than_its_partitions_is_refused_too(
    snapshot: Snapshot, prepper: DataPrepper, what: str, name: str
):
    """P6: a person and a supplier hear of a Data Prepper that has come back, whichever partitions it has."""
    old = snapshot.taken_over()
    before = found(old.partition(key(8)))
    taken = prepper.acquire()
    assert taken is not None
    assert taken != key(8)
    LEFT[what](prepper, taken)
    snapshot.clock.advance(MINUTE)
    for process in (old, one_more(snapshot)):
        with pytest.raises(SchemaVersionError, match="was written by Data Prepper"):
            OTHERS[name](process)
    assert snapshot.store().get(before.source, "of its own") is None
    assert snapshot.store().get(before.source, key(8)) == before


@pytest.mark.parametrize("hinted", [True, False])
def test_c3_a_process_starts_with_a_look(snapshot: Snapshot, prepper: DataPrepper, hinted: bool):
    """C3: although there is work of ours to do."""
    hint = snapshot.taken_over().claimable()[-1]
    taken = prepper.acquire()
    assert taken is not None
    prepper.complete(taken)
    with pytest.raises(SchemaVersionError, match="was written by Data Prepper"):
        one_more(snapshot).get_next_partition(hint=hint if hinted else None)


@pytest.mark.parametrize("held", [0, 250])
def test_c3_the_look_is_bounded(snapshot: Snapshot, held: int):
    """C3: one request more at a process's start, one more for an empty answer, however many leases there are."""
    snapshot.store().setup()
    one = one_more(snapshot)
    one.create_partitions(map(key, range(held)))
    for hint in one.claimable(held or 1):
        acquired(one.get_next_partition(hint=hint))
    fresh = one_more(snapshot)
    assert fresh.store.store_id
    requests = Requests(snapshot.engine.client)
    counted = []
    for _ in range(2):
        with requests.counted() as tally:
            assert fresh.get_next_partition() is None
        counted.append(tally.sent)
    with requests.counted() as tally:
        assert fresh.sweep() == Swept(0, 0, 0)
    assert [*counted, tally.sent] == [
        Counter(Query=4, GetItem=1),
        Counter(Query=4),
        Counter(Query=5),
    ]  # one looks for a pause


def test_what_it_creates_is_seen(snapshot: Snapshot, prepper: DataPrepper):
    """A supplier of its own makes partitions that are not ours."""
    one = snapshot.taken_over()
    drained(one)
    assert prepper.create("new")
    with pytest.raises(SchemaVersionError, match="item 'new' of"):
        one.get_next_partition()


def test_its_first_start_is_seen_where_there_was_no_global_state(snapshot: Snapshot, prepper: DataPrepper):
    """It creates the global item when it starts; where ours is, its start leaves no trace."""
    del snapshot.before[0]
    one = snapshot.taken_over()
    assert prepper.start()
    with pytest.raises(SchemaVersionError, match=r"'env1\|s3-pipeline\|GLOBAL_STATE' was written by Data Prepper"):
        one.run_supplier(lambda state: [])


def test_taken_over_again_goes_on_and_gives_no_fence_twice(snapshot: Snapshot, prepper: DataPrepper):
    """Data Prepper's interlude is finished work, or work that waits; tokens go on rising."""
    one = snapshot.taken_over()
    first = acquired(one.get_next_partition())
    one.give_up(first)
    mine = found(one.partition(first.key))
    keys = list(iter(prepper.acquire, None))
    assert len(keys) == 9
    assert prepper.complete(keys[1])
    with pytest.raises(SchemaVersionError, match="holds 8 lease"):
        snapshot.store().setup()
    snapshot.clock.advance(11 * MINUTE)
    snapshot.store().setup()
    again = one_more(snapshot)
    assert found(again.partition(first.key)).token > mine.token
    assert sorted(partition.key for partition in drained(again)) == sorted(set(keys) - {keys[1]})


@pytest.mark.parametrize("rows", [1, 100])
def test_c4_a_supplier_that_returns_does_not_move_the_global_state_back(
    snapshot: Snapshot, prepper: DataPrepper, caplog: pytest.LogCaptureFixture, rows: int
):
    """C4: both states are named, and the one that was last saved under a fence of ours is kept, large or small."""
    one = snapshot.taken_over()
    newest = {f"row {number}": "2026-11-21" for number in range(rows)}

    def supplier(state: dict[str, Any]) -> list[str]:
        state.clear()
        state.update(newest)
        return []

    one.run_supplier(supplier)
    assert prepper.save_state('{"SCAN_COUNT":1}')
    with pytest.raises(SchemaVersionError, match="GLOBAL_STATE' was written by Data Prepper"):
        one.run_supplier(lambda state: [])
    with caplog.at_level("WARNING"):
        snapshot.store().setup()
    [warning] = [record.getMessage() for record in caplog.records if "global state" in record.getMessage()]
    assert "of 'env1|s3-pipeline|GLOBAL_STATE', which was last saved here as {" in warning
    assert '"row 0":"2026-11-21"' in warning.replace(" :", ":").replace(": ", ":")
    assert 'and is now {"SCAN_COUNT":1}. The one saved here is kept' in warning
    found_again: dict[str, str] = {}
    one_more(snapshot).run_supplier(lambda state: found_again.update(state) or [])
    assert found_again == newest


def test_c4_where_nothing_was_saved_here_its_own_state_goes_on(
    snapshot: Snapshot, prepper: DataPrepper, caplog: pytest.LogCaptureFixture
):
    """C4: it is not a warning then."""
    snapshot.taken_over()
    assert prepper.save_state('{"SCAN_COUNT":7}')
    with caplog.at_level("WARNING"):
        snapshot.store().setup()
    assert "global state" not in caplog.text
    states: list[int] = []
    one_more(snapshot).run_supplier(lambda state: states.append(state["SCAN_COUNT"]) or [])
    assert states == [7]


def test_an_old_row_of_the_index_is_no_sign_of_data_prepper(snapshot: Snapshot):
    """The index lags: for a moment it still shows items as they were before the takeover."""
    snapshot.make()
    store = snapshot.store()
    old = {item["sourcePartitionKey"]["S"]: item for item in snapshot.before}
    store.setup()
    query = store.table.send

    def lagging(call, operation, **arguments):
        answer = query(call, operation, **arguments)
        if operation == "query" and "IndexName" in arguments:
            answer["Items"] = [old[row["sourcePartitionKey"]["S"]] for row in answer["Items"]]
        return answer

    store.table.send = lagging
    one = coordinator(store, snapshot.clock)
    assert one.get_next_partition() is None
    store.table.send = query
    assert len(drained(one)) == 9


PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "from-data-prepper.md"


def says(sentence: str) -> bool:
    """Return whether the page says so, however its lines are broken."""
    return sentence in " ".join(PAGE.read_text().split())


def test_c2_a_table_that_we_made_has_no_way_back(snapshot: Snapshot, prepper: DataPrepper):
    """C2: Data Prepper's writes are conditioned on ``version``, which our index does not repeat; the page says so."""
    snapshot.store().setup()
    one_more(snapshot).create_partitions([key(0), key(1)])
    assert prepper.acquire() is None
    assert one_more(snapshot).counts()[PartitionStatus.UNASSIGNED] == 2
    assert says("A table that this package made has no way back: its index does not repeat `version`")
    assert says("let Data Prepper make the table (one start of an empty pipeline does), then run `store migrate` on it")


def test_c2_what_is_parked_waits_behind_what_is_closed(snapshot: Snapshot, prepper: DataPrepper):
    """C2: Data Prepper looks at the first closed partition only, and a parked one stands behind all others."""
    one = snapshot.taken_over()
    drained(one)
    one.create_partitions(["parked", "closed"])
    one.close(acquired(one.get_next_partition(hint="closed")), reopen_after=60 * MINUTE)
    one.people.park("parked", by="ana", why="bad")
    assert prepper.acquire() is None
    snapshot.clock.advance(61 * MINUTE)
    assert [prepper.acquire(), prepper.acquire()] == ["closed", "parked"]
    assert says("Parked ones are taken when no closed one stands before them")


def test_data_prepper_finishes_what_we_leave(snapshot: Snapshot, prepper: DataPrepper):
    """The way back: it takes all that is unfinished, also what waits for a delay or for a person here."""
    one = snapshot.taken_over()
    drained(one)
    in_every_state(one, snapshot.clock)
    snapshot.clock.advance(60 * MINUTE)
    done = []
    while (taken := prepper.acquire()) is not None:
        done.append(taken)
        assert prepper.complete(taken)
    assert sorted(done) == sorted([*(f"n{number:02}" for number in range(1, 15) if number != 10), "early", "late"])
    assert done.index("early") < done.index("late")
    assert BASE in prepper.owner


def test_a3_doctor_finds_that_data_prepper_still_works_in_the_table(snapshot: Snapshot, prepper: DataPrepper):
    """A3: a healthy lease of its own is enough, while there is work of ours that could be had."""
    snapshot.taken_over()
    assert {row.verdict for row in writers(snapshot)} == {Verdict.OK}
    assert prepper.acquire() == key(0)
    [row] = writers(snapshot)
    assert row.verdict is Verdict.WRONG
    assert "was written by Data Prepper, or by hand, under the name of 'env1|s3-pipeline:node-a'" in row.found
    assert row.remedy


def writers(snapshot: Snapshot) -> list[Finding]:
    """Return what is found of other writers."""
    return [row for row in examine(snapshot.store(), Role.WORKER) if row.check == "other writers"]
