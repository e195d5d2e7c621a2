"""A source moves from one store to another: nothing is lost, nothing counts twice, fences go on."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from airflow_coordination.leases import (
    Block,
    InvalidInputError,
    Partition,
    PartitionIdentifier,
    PartitionStatus,
    PartitionUpdateError,
    SettingsError,
    SourceCoordinator,
)
from airflow_coordination.protocol.fields import MOVED
from airflow_coordination.protocol.pages import every_head
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.stores import open_store
from airflow_coordination.stores.dynamodb import DynamoDBOptions, DynamoDBStore, requests
from airflow_coordination.stores.dynamodb.items import NOT_KEPT
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.testing.forwarding import ForwardingStore
from airflow_coordination.transfer.exporting import export
from airflow_coordination.transfer.importing import Export, import_, read_export
from airflow_coordination.values.accounting import Accounting, AddedUp, SinkCounts
from airflow_coordination.values.errors import StoreUnavailableError
from tests.simulation.dynamodb.engine import Engine

SOURCE = "flights|PARTITION"
HOUR = timedelta(hours=1)
LONG = "ü" * 600
KEYS = ("closed", "completed", "delayed", "fresh", "given-up", "parked", "purged", "saved", "twice", LONG, "a\tb'\\")
Opener = Callable[[], PartitionStore]
Open = Callable[[str], PartitionStore]


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


def _opener(kind: str, clock: FakeClock, tmp_path: Path, request: pytest.FixtureRequest) -> Opener:
    if kind == "memory":
        return lambda: open_store(f"memory://{uuid4().hex}", clock=clock)
    if kind == "sqlite":
        return lambda: open_store(f"sqlite:///{tmp_path}/{uuid4().hex}.db", clock=clock)
    if kind == "postgresql":
        url = request.getfixturevalue("postgres_url")
        return lambda: open_store(url, clock=clock)
    request.getfixturevalue("monkeypatch").setattr(requests, "PARALLEL", 1)
    options = DynamoDBOptions(table_name="coordination", billing_mode="on_demand")
    engine = Engine(clock.now)
    return lambda: DynamoDBStore(options, clock, client=lambda _: engine, local=clock)


@pytest.fixture
def opened(
    clock: FakeClock, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[Callable[[str], PartitionStore]]:
    """Open and set up stores by their kind."""
    stores: list[PartitionStore] = []

    def make(kind: str) -> PartitionStore:
        stores.append(_opener(kind, clock, tmp_path, request)())
        stores[-1].setup()
        return stores[-1]

    yield make
    for store in stores:
        store.close()


def coordinator(store: PartitionStore, clock: FakeClock) -> SourceCoordinator:
    return SourceCoordinator(store, "flights", "me", clock=clock, max_failures=2)


def block(name: str) -> Block:
    return Block("clean", f"/out/{name}", name, 10, 100)


def lived(store: PartitionStore, clock: FakeClock) -> SourceCoordinator:
    """Return a source in which everything was done, paused and at rest."""
    c = coordinator(store, clock)
    c.supplying.register(dag_id="flights", dag_ids=["flights"])
    c.run_supplier(lambda state: state.update(cursor=7) or [PartitionIdentifier(k, {"path": k}, 3) for k in KEYS])
    c.complete(held(c, "completed"), [block("completed")], counted(7))
    c.complete(held(c, LONG), [block("long")])
    c.close(held(c, "closed"), HOUR, {"row": 1}, [block("closed")])
    c.fail(held(c, "delayed"), "no memory", HOUR)
    for _ in range(2):
        c.fail(held(c, "parked"), "bad", timedelta(0))
    c.give_up(c.save_progress_state(held(c, "saved"), {"rows": "x" * 1000}, [block("saved")], counted(5)))
    c.close(held(c, "twice"), timedelta(0), None, [block("once")])
    c.complete(held(c, "twice"), [block("twice")], interval="1907-05/..")
    c.give_up(held(c, "given-up"))
    c.complete(held(c, "purged"), [block("purged")])
    c.people.delete("purged", by="ana", why="old")
    c.pausing.pause(by="ana", why="it moves")
    return c


def counted(read: int) -> Accounting:
    """All but one delivered, to a sink of a long name; one dropped."""
    sinks = {"a sink with a rather long name": SinkCounts(owed=read - 1, delivered=read - 1)}
    return Accounting(read=read, delivered_everywhere=read - 1, dropped={"cancelled": 1}, sinks=sinks)


def held(c: SourceCoordinator, key: str) -> Any:
    lease = c.acquire_partition(key)
    assert lease is not None
    return lease


@pytest.fixture
def moved(opened: Open, clock: FakeClock, tmp_path: Path) -> Callable[[str, str], Any]:
    """Move a source from a store of one kind to another; return both, and the file."""

    def move(one: str, other: str) -> tuple[SourceCoordinator, SourceCoordinator, Export]:
        here = lived(opened(one), clock)
        assert export(here, tmp_path / "flights.jsonl") == len(KEYS)
        there, found = coordinator(opened(other), clock), read_export(tmp_path / "flights.jsonl")
        done = import_(there, found, "bob")
        assert (done.here, done.different) == (len(KEYS), ())
        return here, there, found

    return move


def life(partition: Partition | None) -> dict[str, Any]:
    assert partition is not None
    names = set(MOVED) | {"payload_text", "priority"}
    if partition.token == 0:
        names -= {"created_at", "available_at", "last_op", "generation"}
    return {name: getattr(partition, name) for name in names - set(NOT_KEPT)}


WAYS = [
    ("memory", "sqlite"),
    ("sqlite", "memory"),
    ("sqlite", "dynamodb"),
    ("dynamodb", "sqlite"),
    pytest.param("sqlite", "postgresql", marks=pytest.mark.postgres),
    pytest.param("postgresql", "dynamodb", marks=pytest.mark.postgres),
]
each_way = pytest.mark.parametrize(("one", "other"), WAYS)


@each_way
def test_every_partition_goes_on_as_it_was(moved: Callable[..., Any], one: str, other: str) -> None:
    here, there, _ = moved(one, other)
    assert [p.key for p in there.partitions()] == [p.key for p in here.partitions()]
    for partition in here.partitions():
        assert life(there.partition(partition.key)) == life(partition), partition.key
    assert there.counts() == here.counts()
    assert there.supplying.global_state() == here.supplying.global_state() == {"cursor": 7}
    assert dict(there.store.sources())[SOURCE] == {"dag_id": "flights", "dag_ids": ["flights"]}


@each_way
def test_s26_what_became_of_its_records_goes_along(moved: Callable[..., Any], one: str, other: str) -> None:
    """The next tenure adds to what was counted before the move."""
    _, there, _ = moved(one, other)
    assert there.partition("completed").accounting == counted(7)
    assert there.accounting() == AddedUp(**vars_of(counted(7) + counted(5)), partitions=2)
    there.pausing.resume(by="bob", why="moved")
    there.complete(held(there, "saved"), (), counted(3))
    assert there.accounting("saved") == AddedUp(**vars_of(counted(5) + counted(3)), partitions=1)


def vars_of(accounting: Accounting) -> dict[str, Any]:
    return {each.name: getattr(accounting, each.name) for each in fields(accounting)}


@each_way
def test_what_was_published_is_read_there(moved: Callable[..., Any], one: str, other: str) -> None:
    """Also of a partition that was deleted: its output stays."""
    here, there, _ = moved(one, other)

    def heads(c: SourceCoordinator) -> list[Any]:
        return sorted(
            (replace(head, published_at=None) for head in every_head(c.store, SOURCE)), key=lambda head: head.key
        )

    assert heads(there) == heads(here)
    assert [head.key for head in heads(there) if head.interval_start is not None] == ["twice"]
    assert {head.key for head in heads(there)} == {"completed", LONG, "closed", "twice", "purged"}
    assert there.partition("purged") is None


@each_way
def test_it_goes_on_where_it_stopped(moved: Callable[..., Any], clock: FakeClock, one: str, other: str) -> None:
    _, there, _ = moved(one, other)
    assert there.get_next_partition() is None, "it is paused until somebody resumes it"
    there.pausing.resume(by="bob", why="moved")
    clock.advance(2 * HOUR)
    tokens = {}
    while (lease := there.get_next_partition()) is not None:
        tokens[lease.key] = lease.fence.token
        if lease.key == "saved":
            assert lease.partition.progress_state == {"rows": "x" * 1000}
        there.complete(lease, [block(f"there-{lease.key[:9]}")])
    assert tokens == {"closed": 2, "delayed": 2, "fresh": 1, "given-up": 2, "saved": 2, "a\tb'\\": 1}
    assert there.partition("parked").parked
    published = {head.key: sorted(b.digest for b in head.blocks) for head in every_head(there.store, SOURCE)}
    assert published["saved"] == ["saved", "there-saved"], "what was staged counts, once"
    assert published["closed"] == ["closed", "there-closed"], "a pass with state adds to what was published there"
    assert published["twice"] == ["twice"]


def test_repeated_it_changes_nothing(moved: Callable[..., Any], opened: Callable[..., Any]) -> None:
    _, there, found = moved("sqlite", "memory")
    before = [there.partition(key) for key in KEYS]
    done = import_(there, found, "bob")
    assert (done.here, done.different) == (len(KEYS), ())
    assert [there.partition(key) for key in KEYS] == before
    assert len(there.pausing.pauses()) == 1


class Fails(ForwardingStore):
    """A store that is gone after some calls."""

    calls = 10**9

    def forward(self, name: str, call: Callable[[], Any]) -> Any:
        """Carry out a call, as long as the store is there."""
        if name in ("create", "place", "act"):
            self.calls -= 1
            if self.calls < 0:
                raise StoreUnavailableError(name, "gone")
        return call()


@pytest.mark.parametrize("calls", range(12))
def test_interrupted_at_any_step_it_goes_on(opened: Open, clock: FakeClock, tmp_path: Path, calls: int) -> None:
    here = lived(opened("memory"), clock)
    export(here, tmp_path / "f")
    there = Fails(opened("memory"))
    there.calls = calls
    found = read_export(tmp_path / "f")
    with pytest.raises(StoreUnavailableError):
        import_(coordinator(there, clock), found, "bob")
    there.calls = 10**9
    done = import_(coordinator(there, clock), found, "bob")
    assert (done.here, done.different) == (len(KEYS), ())
    for partition in here.partitions():
        assert life(coordinator(there, clock).partition(partition.key)) == life(partition)
    assert coordinator(there, clock).partition("purged") is None


def test_what_is_here_already_stays_as_it_is(opened: Open, clock: FakeClock, tmp_path: Path) -> None:
    export(lived(opened("sqlite"), clock), tmp_path / "f")
    there = coordinator(opened("memory"), clock)
    there.create_partitions([PartitionIdentifier("completed", {"path": "completed"}, 3), "fresh"])
    there.complete(held(there, "completed"), [block("here")])
    before = there.partition("completed"), there.partition("fresh")
    done = import_(there, read_export(tmp_path / "f"), "bob")
    assert (done.here, set(done.different)) == (len(KEYS) - 2, {"completed", "fresh"})
    assert (there.partition("completed"), there.partition("fresh")) == before


def test_what_a_supplier_has_created_here_gets_its_life(opened: Open, clock: FakeClock, tmp_path: Path) -> None:
    here = lived(opened("sqlite"), clock)
    export(here, tmp_path / "f")
    there = coordinator(opened("memory"), clock)
    there.create_partitions([PartitionIdentifier(key, {"path": key}, 3) for key in KEYS])
    done = import_(there, read_export(tmp_path / "f"), "bob")
    assert (done.here, done.different) == (len(KEYS), ())
    assert life(there.partition("completed")) == life(here.partition("completed"))


def test_on_dynamodb_it_waits_until_the_pause_holds(opened: Open, clock: FakeClock, tmp_path: Path) -> None:
    export(lived(opened("memory"), clock), tmp_path / "f")
    began = clock.now()
    import_(coordinator(opened("dynamodb"), clock), read_export(tmp_path / "f"), "bob")
    assert clock.now() - began >= timedelta(seconds=30)


# What is refused.


def test_only_a_paused_source_at_rest_is_exported(opened: Open, clock: FakeClock, tmp_path: Path) -> None:
    c = coordinator(opened("sqlite"), clock)
    c.create_partitions(["a"])
    with pytest.raises(PartitionUpdateError, match=r"it is not paused. See `python -m airflow_coordination pause"):
        export(c, tmp_path / "f")
    lease = held(c, "a")
    c.pausing.pause(by="ana", why="why")
    with pytest.raises(PartitionUpdateError, match=r"1 partition\(s\) that are held: wait for their owners"):
        export(c, tmp_path / "f")
    clock.advance(c.settings.ownership_timeout)  # nobody knows whether its owner lives: the sweep ends its tenure
    assert export(c, tmp_path / "f") == 1
    assert lease.fence.token == 1
    assert c.partition("a").status is PartitionStatus.UNASSIGNED
    assert not list(tmp_path.glob("*.part"))


def test_s27_what_is_left_to_be_done_is_done_before_a_source_moves(
    opened: Open, clock: FakeClock, tmp_path: Path
) -> None:
    c = coordinator(opened("memory"), clock)
    c.create_partitions(["k"])
    c.complete(held(c, "k"), then="[]")
    c.pausing.pause(by="ana", why="moves")
    with pytest.raises(PartitionUpdateError, match=r"airflow coordination finish-actions flights"):
        export(c, tmp_path / "export")
    c.follow_ups.clear_follow_up(next(c.follow_ups.follow_ups()))
    assert export(c, tmp_path / "export") == 1


def test_a_supplier_that_runs_is_waited_for(opened: Open, clock: FakeClock, tmp_path: Path) -> None:
    c = coordinator(opened("sqlite"), clock)
    c.create_partitions(["a"])
    c.pausing.pause(by="ana", why="why")

    def supplier(state: dict[str, Any]) -> list[str]:
        with pytest.raises(PartitionUpdateError, match="it has a supplier that runs: wait for its end"):
            export(coordinator(c.store, clock), tmp_path / "f")
        return []

    c.run_supplier(supplier)
    assert export(c, tmp_path / "f") == 1


def test_a_file_that_is_there_stays(opened: Open, clock: FakeClock, tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_text("mine")
    with pytest.raises(SettingsError, match="is there already"):
        export(lived(opened("sqlite"), clock), path)
    assert path.read_text() == "mine"
    with pytest.raises(SettingsError, match="cannot be written: No such file or directory"):
        export(lived(opened("sqlite"), clock), tmp_path / "no" / "f")


def test_what_is_resumed_meanwhile_is_no_export(opened: Open, clock: FakeClock, tmp_path: Path) -> None:
    c = lived(opened("sqlite"), clock)

    def resumes(done: int) -> None:
        if done == 3:
            c.pausing.resume(by="eve", why="why")

    with pytest.raises(PartitionUpdateError, match="somebody resumed it, or took something of it, meanwhile"):
        export(c, tmp_path / "export", resumes)
    assert not list(tmp_path.glob("export*"))


def test_it_is_not_imported_where_it_comes_from_nor_as_another_source(
    opened: Open, clock: FakeClock, tmp_path: Path
) -> None:
    c = lived(opened("sqlite"), clock)
    export(c, tmp_path / "f")
    found = read_export(tmp_path / "f")
    with pytest.raises(SettingsError, match="is the store that the file comes from"):
        import_(c, found, "bob")
    other = SourceCoordinator(opened("memory"), "trains", "me", clock=clock)
    with pytest.raises(SettingsError, match="source='trains': is not the source in the file: 'flights'"):
        import_(other, found, "bob")


@pytest.fixture
def exported(opened: Open, clock: FakeClock, tmp_path: Path) -> list[str]:
    export(lived(opened("memory"), clock), tmp_path / "whole")
    return (tmp_path / "whole").read_text().splitlines(keepends=True)


def _changed(number: int, **changes: Any) -> Callable[[list[str]], list[str]]:
    def change(lines: list[str]) -> list[str]:
        [(name, value)] = json.loads(lines[number]).items()
        where = value.get("partition", value)
        where.update(changes)
        return [*lines[:number], json.dumps({name: value}) + "\n", *lines[number + 1 :]]

    return change


@pytest.mark.parametrize(
    ("break_it", "said"),
    [
        (lambda lines: [], "cannot be imported; line 0: the file ends here, without its last line"),
        (lambda lines: lines[:-1], "without its last line: it was cut off"),
        (lambda lines: [*lines[:5], lines[5][:40]], "cannot be imported; line 6: Unterminated string"),
        (lambda lines: [*lines[:5], *lines[6:]], "the sum is another than that of the lines before it"),
        (lambda lines: lines[1:], "the heading has to be the first line"),
        (lambda lines: [*lines, lines[3]], "there is something behind the last line"),
        (lambda lines: ["hello\n", *lines], "cannot be imported; line 1: Expecting value"),
        (lambda lines: [lines[0], '{"x":{}}\n', *lines[1:]], "cannot be imported; line 2: 'x' is no line of an export"),
        (lambda lines: [lines[0], "[1]\n", *lines[1:]], "it is not one JSON object with one name"),
        (_changed(0, version=3), "cannot be imported; line 1: its version is 3, this code reads 1 and 2"),
        (_changed(0, format="x"), "its format is 'x'"),
        (_changed(0, exported_at="soon"), "Invalid isoformat string: 'soon'"),
        (_changed(3, sourcePartitionStatus="ASSIGNED"), "is held, or stands in the line of"),
        (_changed(3, sourcePartitionStatus="DONE"), "'DONE' is not a valid PartitionStatus"),
        (_changed(3, token="7"), "its 'token' is '7', not a number"),
        (_changed(3, closedCount=True), "its 'closedCount' is True, not a number"),
        (_changed(3, availableAt="2026-01-01T00:00:00"), "the time '2026-01-01T00:00:00' has no zone"),
        (_changed(3, surprise=1), "it has ['surprise'], which this code does not know"),
        (_changed(3, sourcePartitionKey="other"), "stands in the line of"),
    ],
)  # fmt: skip
def test_a_file_that_is_not_whole_is_refused_before_anything_is_written(
    exported: list[str], tmp_path: Path, break_it: Callable[[list[str]], list[str]], said: str
) -> None:
    path = tmp_path / "broken"
    path.write_text("".join(break_it(exported)))
    with pytest.raises(InvalidInputError) as refused:
        read_export(path)
    assert said in str(refused.value)
    assert str(refused.value).endswith("Export the source again, and copy the file as it is")


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot be read: No such file or directory"):
        read_export(tmp_path / "f")
