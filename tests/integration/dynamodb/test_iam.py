"""The three policies: each is enough, each action in it is needed, and it names what is really touched."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from airflow_coordination.cli.doctor_stored import look_at_published
from airflow_coordination.duties.copies.status import copies_status
from airflow_coordination.duties.retention.ruled import KEEP, rules_of
from airflow_coordination.leases import Block, PartitionStatus, SourceCoordinator
from airflow_coordination.outputs import collect
from airflow_coordination.outputs.overlays import merged_source
from airflow_coordination.planning.duties.configuration import DynamicConfig
from airflow_coordination.planning.view.view import EMPTY
from airflow_coordination.protocol.beside.chunk_sums import ChunkSums
from airflow_coordination.protocol.beside.documents import VIEW, BranchCounts
from airflow_coordination.protocol.writes import Act, Action, Create, NewPartition
from airflow_coordination.stores.diagnostics import Verdict
from airflow_coordination.stores.dynamodb import DynamoDBStore
from airflow_coordination.stores.dynamodb.keys import SOURCES
from airflow_coordination.stores.dynamodb.setup.examination import OF_DATA_PREPPER
from airflow_coordination.stores.dynamodb.setup.iam import Role, TableAddress, policy
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.values.errors import PartitionUpdateError
from airflow_coordination.values.names import DUTIES
from tests.copying import COPIED, Copying
from tests.integration.dynamodb.engine import Engine
from tests.integration.dynamodb.moto_iam import User, actions, document
from tests.unit.duties.compaction.made import config, planner, publish
from tests.unit.duties.compaction.made import work as merge
from tests.upkeep import SOURCE, Dataset

LEASE = timedelta(minutes=1)


@dataclass(frozen=True)
class Run:
    """What a scenario works with.

    :param store: a new process's, on the table.
    :param clock: its time.
    :param source: the name of a source.
    """

    store: DynamoDBStore
    clock: FakeClock
    source: str

    def coordinator(self, attempt: int = 1) -> SourceCoordinator:
        return SourceCoordinator(self.store, self.source, f"host/dag/run/task/0/{attempt}", ownership_timeout=LEASE)


def set_up(run: Run) -> None:
    """All that ``store migrate`` does; the second time it finds what the first has made."""
    run.store.setup()
    run.store.setup()


def work(run: Run) -> None:
    """What operators, sensor, driver and people do."""
    flights = run.coordinator()
    flights.supplying.register()
    flights.looking.check_known()
    flights.create_partitions(["2013-01", "2013-02", "2013-03"])
    lease = flights.get_next_partition(hint=flights.claimable()[0])
    lease = flights.save_progress_state(flights.renew(lease), {"text": "too large for the partition's item" * 100})
    following = flights.complete_and_get_next(lease, [Block("clean", "/out/1", "0" * 64, 1, 1)])
    flights.close(following, reopen_after=timedelta(seconds=1), then="[]")
    for note in flights.follow_ups.follow_ups():
        flights.follow_ups.clear_follow_up(note)
    assert flights.get_next_partition()
    run.clock.advance(LEASE * 2)
    assert flights.claimable()
    assert flights.sweep().reclaimed == 1
    flights.people.release(flights.get_next_partition().partition.key, by="ana", why="stuck")
    flights.people.retract("2013-01", by="ana", why="wrong")
    flights.people.reset("2013-01", by="ana", why="again")
    for dataset in ("clean", "gone"):
        flights.looking.chunks.put([ChunkSums(dataset=dataset)])
    flights.looking.chunks.forget("gone")
    hand_over(run)
    view(run)
    assert flights.get_next_partition()
    read(run)


def view(run: Run) -> None:
    """What people say of what shows, and where partitions run for it."""
    flights = run.coordinator()
    flights.documents.change(VIEW, lambda _: EMPTY.text, "ana", "a test")
    source = f"{run.source}|PARTITION"
    new = NewPartition(key="2013-05", payload_text=None, priority=0)
    run.store.create(Create(source=source, op="op-1", partitions=(new,), branch=1))
    seen = flights.partition("2013-05")
    said = {"source": source, "key": "2013-05", "op": "op-2", "by": "ana", "why": "a test"}
    assert run.store.act(Act(action=Action.RESET, seen=seen, branch=2, **said)).applied
    assert run.store.branch_counts(source, 2) == BranchCounts(1)
    flights.people.delete("2013-05", by="ana", why="a test")


def hand_over(run: Run) -> None:
    """What a task's later try does about its earlier one's lease, and what people do about the partition."""
    earlier, later, last = (run.coordinator(attempt) for attempt in (1, 2, 3))
    earlier.create_partitions(["2013-04"])
    lease = earlier.acquire_partition("2013-04")
    earlier.begin("2013-04", lease.fence)
    assert [partition.key for partition in later.tries.held_by_task()] == ["2013-04"]
    assert later.tries.adopt("2013-04", lease.fence)
    last.give_up(last.tries.retake("2013-04"))
    last.fail(last.acquire_partition("2013-04"), "out of memory")
    for action in (last.people.park, last.people.reopen, last.people.delete):
        action("2013-04", by="ana", why="a test")


def read(run: Run) -> None:
    """What a board, a report and ``read_completed`` do; there is a lease that seems to have ended."""
    flights = run.coordinator()
    assert [(row.dataset, row.heads) for row in flights.looking.chunks.page()] == [("clean", None)]
    assert [each.chunks for each in flights.looking.chunks.totals()] == [1]
    assert flights.documents.view() == EMPTY
    assert [each.name for each in flights.documents.all()] == [VIEW]
    assert rules_of(flights, "clean").rules == KEEP
    assert run.store.look(f"{run.source}|PARTITION", VIEW, 2).counts == BranchCounts()
    flights.looking.check_known()
    run.clock.advance(LEASE * 3)
    assert sum(flights.counts().values()) == 3
    assert len(flights.partitions(status=PartitionStatus.UNASSIGNED)) == 2
    partition = flights.partition("2013-01")
    assert len(run.store.heads(partition.source, "clean")) == 1
    assert len(run.store.audit(partition.source, "2013-01")) == 2
    assert len(flights.claimable()) == 3
    assert flights.looking.outlook().assigned == 1


SCENARIOS: dict[Role, Callable[[Run], None]] = {Role.SETUP: set_up, Role.WORKER: work, Role.READER: read}


def run(role: Role, engine: Engine, client: Any, table: str, source: str) -> None:
    clock = FakeClock()
    clock.advance(timedelta(hours=list(Role).index(role)))  # what a role before has counted is old
    options = engine.options(table, ttl=timedelta(days=7))
    SCENARIOS[role](Run(DynamoDBStore(options, clock, client=lambda _: client), clock, source))


@pytest.fixture(scope="module")
def user(moto: Engine) -> Iterator[User]:
    with closing(User(moto)) as user:
        yield user


@pytest.fixture(scope="module")
def worked(moto: Engine) -> Iterator[str]:
    """Name of a table that is set up, with work done on the source ``read``."""
    table = f"worked-{uuid4().hex}"
    run(Role.SETUP, moto, moto.client, table, "")
    run(Role.WORKER, moto, moto.client, table, "read")
    yield table
    moto.delete(table)


@pytest.fixture
def place(role: Role, table: str, moto: Engine, request: pytest.FixtureRequest) -> Iterator[tuple[str, str]]:
    """Table and source as the role finds them: no table, a new source, or one with work done."""
    if role is Role.SETUP:
        yield table, ""
        moto.delete(table)
    else:
        yield request.getfixturevalue("worked"), "read" if role is Role.READER else uuid4().hex


@pytest.mark.parametrize("role", Role)
def test_x7_policy_is_enough_and_names_what_is_touched(
    moto: Engine, user: User, place: tuple[str, str], role: Role
) -> None:
    with user.allowed(actions(role)) as client:
        run(role, moto, client, *place)
    named = {
        (action, statement["Resource"])
        for statement in document(role, place[0])["Statement"]
        for action in statement["Action"]
    }
    refused = {touch for touch in user.touched if role is Role.READER and touch[0] == "dynamodb:PutItem"}
    assert len(refused) == (role is Role.READER), "a reader counts without keeping the count for others"
    assert user.touched - refused == named


@pytest.mark.parametrize(("role", "missing"), [(role, action) for role in Role for action in actions(role)])
def test_x7_every_action_is_needed_and_its_absence_is_named(
    moto: Engine, user: User, place: tuple[str, str], role: Role, missing: str
) -> None:
    with user.allowed(set(actions(role)) - {missing}) as client, pytest.raises(PartitionUpdateError) as failed:
        run(role, moto, client, *place)
    assert f"Allow {missing}; see `airflow coordination iam`" in str(failed.value)


def narrow_keys(role: Role, table: str, source: str) -> set[tuple[str, str]]:
    """Return what a narrowed policy allows: actions, each with a leading key."""
    narrow = policy(role, TableAddress(table, "us-east-1", "123456789012"), source=source)["Statement"]
    return {
        (action, key)
        for statement in narrow
        for action in statement["Action"]
        for keys in statement["Condition"].values()
        for key in keys["dynamodb:LeadingKeys"]
    }


def beyond(keys: set[tuple[str, str]], allowed: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """Return what was asked for and is not allowed, where a key that ends in ``*`` stands for all that begin so."""
    patterns = [(action, key[:-1]) for action, key in allowed if key.endswith("*")]
    return {
        (action, key)
        for action, key in keys - allowed
        if not any(action == each and key.startswith(beginning) for each, beginning in patterns)
    }


@pytest.mark.parametrize("role", [Role.WORKER, Role.READER])
def test_b7_the_keys_of_one_source_are_enough(moto: Engine, user: User, place: tuple[str, str], role: Role) -> None:
    """B7: moto does not enforce keys, so what the scenario asks for is compared with the policy's condition."""
    table, source = place
    user.keys.clear()
    with user.allowed(actions(role)) as client:
        run(role, moto, client, table, source)
    allowed = narrow_keys(role, table, source)
    # X4: who may register any source says whose it is, and the board believes it.
    registry = ("dynamodb:PutItem", SOURCES)
    refused = {("dynamodb:PutItem", f"{source}|PARTITION|COUNTS")} if role is Role.READER else {registry}
    assert registry not in allowed
    assert user.keys - refused <= allowed
    assert {key for _, key in user.keys} > {f"{source}|PARTITION", f"{source}|PARTITION|COUNTS"}


def compact(data: Dataset) -> None:
    """What ingest, the planner, the workers of groups, the collector and people do about a source that is merged."""
    publish(data, "2013-01-03", "2013-01-04", "2013-02-01")
    first, second = planner(data).run([config()]).begun
    groups = data.groups()
    groups.fail(groups.acquire_partition(first), "out of memory")
    groups.people.park(second, by="ana", why="a test")
    groups.people.reopen(second, by="ana", why="a test")
    groups.people.reset(first, by="ana", why="a test")
    assert set(merge(data)) == {first, second}
    assert planner(data).run([config()]).begun == ()
    for source in (SOURCE, merged_source(SOURCE)):
        assert collect(data.store, source, data.root, older_than=timedelta(0), dry_run=True).errors == ()
    look(data)


def look(data: Dataset) -> None:
    """What readers, the doctor and the board do about it."""
    assert data.rows() == Counter({"1": 3, "2": 3})
    assert [finding.verdict for finding in look_at_published(data.store, SOURCE)] == [Verdict.OK]
    groups = data.groups()
    assert groups.counts()["COMPLETED"] == 2
    assert [len(groups.partitions(status=status)) for status in PartitionStatus] == [0, 0, 0, 2]
    assert groups.supplying.global_state() == {}


def test_b7_they_are_enough_where_it_is_merged(moto: Engine, user: User, table: str, tmp_path: Path) -> None:
    """B7: readers ask for what was merged, and a worker plans and merges; somebody else has registered the sources."""
    open_ = moto.store(table, FakeClock())
    open_.setup()
    for name in (SOURCE, merged_source(SOURCE), DUTIES):
        SourceCoordinator(open_, name, "somebody").supplying.register()
    for role, does in ((Role.WORKER, compact), (Role.READER, look)):
        user.keys.clear()
        with user.allowed(actions(role)) as client:
            store = DynamoDBStore(moto.options(table), client=lambda _, client=client: client)
            does(Dataset(store, tmp_path, "host/dag/run/task/0/1"))
        refused = {("dynamodb:PutItem", f"~merged/{SOURCE}|PARTITION|COUNTS")} if role is Role.READER else set()
        assert user.keys - refused <= narrow_keys(role, table, SOURCE)
        assert ("dynamodb:Query", f"~merged/{SOURCE}|PARTITION|HEADS") in user.keys
        assert any(key.startswith(DUTIES) for _, key in user.keys) == (role is Role.WORKER)
    moto.delete(table)


def copied(days: Copying) -> None:
    """What a worker does who makes copies, and what people look at."""
    days.ask("hot", "2013-01-01/P1D")
    assert days.work().completed == 1
    assert copies_status(days.ingest(), DynamicConfig()).chunks[0].there == ("hot",)
    read_copies(days)


def read_copies(days: Copying) -> None:
    """What a reader of a tier does."""
    assert days.rows_in("hot") == Counter({"row 0 of 2013-01-01": 1, "row 1 of 2013-01-01": 1})


def test_b7_they_are_enough_where_it_is_copied(moto: Engine, user: User, table: str, tmp_path: Path) -> None:
    """B7: a worker makes copies, a reader reads a tier; somebody else says locations and registers the sources."""
    open_ = moto.store(table, FakeClock())
    open_.setup()
    open_days = Copying(open_, tmp_path / "out")
    for name in (SOURCE, merged_source(SOURCE), COPIED, DUTIES):
        SourceCoordinator(open_, name, "somebody").supplying.register()
    open_days.place(tmp_path / "hot")
    open_days.publish("2013-01-01")
    for role, does in ((Role.WORKER, copied), (Role.READER, read_copies)):
        user.keys.clear()
        with user.allowed(actions(role)) as client:
            store = DynamoDBStore(moto.options(table), client=lambda _, client=client: client)
            does(Copying(store, tmp_path / "out", "host/dag/run/task/0/1"))
        assert beyond(user.keys, narrow_keys(role, table, SOURCE)) == set()
        assert any(key.startswith(COPIED) for _, key in user.keys)
    moto.delete(table)


def test_the_list_in_data_prepper_s_documentation_is_not_enough(moto: Engine, user: User, worked: str) -> None:
    """Nothing can be acquired, because that is an update."""
    with (
        user.allowed(OF_DATA_PREPPER) as client,
        pytest.raises(PartitionUpdateError, match="Allow dynamodb:UpdateItem"),
    ):
        run(Role.WORKER, moto, client, worked, uuid4().hex)
