"""What a look finds while others write: read in two parts, read before it is taken, read by an older index."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from airflow_coordination.leases import Lease, PartitionIdentifier, SourceCoordinator
from airflow_coordination.leases.confirm import Fate, judge
from airflow_coordination.protocol.writes import End
from airflow_coordination.stores.dynamodb import DynamoDBOptions, DynamoDBStore, requests
from airflow_coordination.stores.dynamodb import items as it
from airflow_coordination.stores.dynamodb.setup import table as module
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.values.input_errors import CoordinationError
from airflow_coordination.values.status import PartitionStatus
from tests.simulation.dynamodb.engine import Engine

OPTIONS = DynamoDBOptions(table_name="coordination", billing_mode="on_demand")
HOUR = 3600
Hook = Callable[[dict[str, Any]], object]


class Overtaken:
    """A client around whose requests somebody else does something.

    :param before: by the request's name, called with its arguments; so is ``after``.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.before: dict[str, Hook] = {}
        self.after: dict[str, Hook] = {}
        self.read: list[str] = []

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._engine, name)

        def call(**arguments: Any) -> Any:
            if name == "get_item":
                self.read.append(arguments["Key"][it.SOURCE]["S"])
            self.before.get(name, lambda _: None)(arguments)
            answer = found(**arguments)
            self.after.get(name, lambda _: None)(arguments)
            return answer

        return call if callable(found) else found


class World:
    """A table on the simulated engine, and who works on it."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.engine = Engine(self.clock.now)
        self.store().setup()
        self.one = self.coordinator("one")

    def store(self, client: Any = None) -> DynamoDBStore:
        return DynamoDBStore(OPTIONS, self.clock, lambda _: client or self.engine)

    def coordinator(self, name: str, client: Any = None) -> SourceCoordinator:
        return SourceCoordinator(self.store(client), "flights", f"h/d/r/{name}/0/1", clock=self.clock)

    def close(self, times: int) -> None:
        for _ in range(times):
            self.one.close(self.acquire("k"), timedelta(0))
            self.clock.advance(1)

    def acquire(self, key: str) -> Lease:
        lease = self.one.acquire_partition(key)
        assert lease is not None
        return lease

    def long(self, text: str = "") -> Lease:
        """Return a lease on "k" which has lasted so long that the eight endings before it lie beside."""
        self.one.create_partitions(["k"])
        self.close(8)
        lease = self.acquire("k")
        if text:
            self.one.save_progress_state(lease, text)
        for _ in range(3):
            self.clock.advance(30)
            self.one.renew(lease)
        return lease


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setattr(requests, "PARALLEL", 1)
    return World()


def once(what: Callable[[], object], where: str) -> Hook:
    """Return a hook that does something at the first request whose arguments name a place."""
    done: list[object] = []

    def hook(arguments: dict[str, Any]) -> None:
        if where in str(arguments) and not done:
            done.append(True)
            what()

    return hook


def endings(one: SourceCoordinator) -> int:
    found = one.partition("k")
    assert found is not None
    return len(found.endings)


def test_all_endings_are_found_while_the_owner_saves(world: World) -> None:
    lease = world.long("x" * 1000)
    client = Overtaken(world.engine)
    reader = world.coordinator("reader", client)
    client.before["get_item"] = once(lambda: world.one.save_progress_state(lease, "y" * 1000), it.PROGRESS)
    assert endings(reader) == 8
    assert len(client.read) > 4  # its text was another one's, so that the item was read once more


def test_s6_an_ending_is_known_for_applied_while_another_owner_saves(world: World) -> None:
    sent: list[Any] = []
    client = Overtaken(world.engine)
    late = world.coordinator("late", client)
    late.create_partitions(["k"])
    write = late.store.write
    late.store.write = lambda what: (sent.append(what), write(what))[1]  # type: ignore[method-assign]
    late.close(late.acquire_partition("k"), timedelta(0))  # type: ignore[arg-type]
    [end] = [each for each in sent if isinstance(each, End)]
    world.clock.advance(1)
    world.close(6)
    lease = world.acquire("k")
    world.one.save_progress_state(lease, "x" * 1000)
    for _ in range(3):
        world.clock.advance(30)
        world.one.renew(lease)
    assert judge(end, write(end).partition) is Fate.APPLIED
    client.before["get_item"] = once(lambda: world.one.save_progress_state(lease, "y" * 1000), it.PROGRESS)
    assert judge(end, write(end).partition) is Fate.APPLIED


def test_endings_that_are_all_in_the_item_again_cost_no_second_read(world: World) -> None:
    world.one.close(world.long(), timedelta(0))
    world.clock.advance(1)
    client = Overtaken(world.engine)
    reader = world.coordinator("reader", client)
    assert endings(reader) == 8
    assert len(client.read) == 3  # the store's facts, the item, and what lies beside it
    world.close(8)
    client.read.clear()
    assert endings(reader) == 8
    assert len(client.read) == 1


@pytest.mark.parametrize(("pause", "timeout", "moves"), [(30, 600, True), (301, 600, False), (5, 39, False)])
def test_nothing_moves_where_the_lease_could_end_meanwhile(
    world: World, pause: float, timeout: float, moves: bool
) -> None:
    """The owner hears of its renewal after both requests, which may take ten seconds."""
    world.one.create_partitions(["k"])
    world.close(8)
    store, settings = world.store(), {"ownership_timeout": timedelta(seconds=timeout)}
    one = SourceCoordinator(store, "flights", "h/d/r/one/0/1", clock=world.clock, **settings)  # type: ignore[arg-type]
    lease = one.acquire_partition("k")
    assert lease is not None
    for _ in range(3):
        world.clock.advance(pause)
        one.renew(lease)
    where = it.typed(it.lease_key("flights|PARTITION", "k"))
    item = world.engine.get_item(TableName="coordination", Key=where, ConsistentRead=True)["Item"]
    assert ("ring1" not in item) is moves
    assert endings(one) == 8


def test_a_child_in_the_place_of_a_tombstone_is_made_by_one_of_two(world: World) -> None:
    child = PartitionIdentifier("k", parents=("p",))
    world.one.create_partitions(["p", child])
    world.one.people.delete("k", by="ana", why="a test")
    client = Overtaken(world.engine)
    reads: list[Any] = []

    def after(arguments: dict[str, Any]) -> None:
        reads.append(arguments)
        if len(reads) == 2:  # the tombstone was read, and now the other one makes it anew
            assert world.one.create_partitions([child]).created == 1

    client.after["batch_get_item"] = after
    made = world.coordinator("two", client).create_partitions([child])
    assert (made.created, made.existing, len(reads)) == (0, 1, 2)


def test_what_is_corrupt_in_an_expired_lease_stops_nobody_else(world: World) -> None:
    world.one.create_partitions(["bad", "good"])
    world.one.save_progress_state(world.acquire("bad"), 1)
    where = it.typed(it.lease_key("flights|PARTITION", "bad"))
    item = world.engine.get_item(TableName="coordination", Key=where, ConsistentRead=True)["Item"]
    world.engine.put_item(TableName="coordination", Item={**item, it.STAGED: {"S": "nonsense["}})
    world.clock.advance(HOUR)
    assert world.coordinator("sensor").sweep().reclaimed == 1
    had = []
    for number in range(3):
        try:
            lease = world.coordinator(f"w{number}").get_next_partition()
        except CoordinationError as error:
            had.append(type(error).__name__)
        else:
            had.append(lease.key if lease else "nothing")
    assert sorted(had) == ["InvalidInputError", "good", "nothing"]  # who takes it learns of it; the order is by chance


def test_races_lost_between_look_and_takeover_say_that_there_is_a_crowd(world: World) -> None:
    keys = [f"k{number}" for number in range(10)]
    world.one.create_partitions(keys)
    for key in keys:
        world.acquire(key)
    world.clock.advance(HOUR)
    client, fast = Overtaken(world.engine), world.coordinator("fast")
    slow = world.coordinator("slow", client)
    lost: list[str] = []

    def before(arguments: dict[str, Any]) -> None:
        key = arguments["Key"][it.KEY]["S"]
        if key in keys and key not in lost and len(lost) < 5:
            lost.append(key)
            assert fast.acquire_partition(key) is not None

    client.before["update_item"] = before
    assert slow.get_next_partition() is not None
    assert isinstance(slow.store, DynamoDBStore)
    assert slow.store._acquiring._pages


def test_a_table_that_code_of_before_cannot_use_stays_so(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    store = world.store()
    facts = module.read_facts(store.table)
    assert facts.readable_by == module.MADE_READABLE_BY
    monkeypatch.setattr(module, "SCHEMA_VERSION", module.SCHEMA_VERSION + 1)
    store.setup()
    assert module.read_facts(store.table).readable_by == module.MADE_READABLE_BY


@pytest.mark.parametrize("repeated", [(), ("lastOp",)], ids=["this version's table", "one of before"])
def test_an_index_that_repeats_more_serves_as_well(repeated: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "PARALLEL", 1)
    with monkeypatch.context() as before:
        before.setattr(it, "PROJECTED", (*it.PROJECTED, *repeated))
        world = World()
    one, two = world.one, world.coordinator("two")
    one.create_partitions(["a", "b"])
    one.save_progress_state(world.acquire("a"), 1)
    one.renew(world.acquire("b"))
    world.clock.advance(HOUR)
    taken = two.get_next_partition()
    assert taken is not None
    assert two.sweep().reclaimed == 1
    two.close(taken, timedelta(seconds=5))
    world.clock.advance(10)
    assert two.sweep().reopened == 1
    failed = two.get_next_partition()
    assert failed is not None
    two.fail(failed, "broken")
    world.clock.advance(HOUR / 6)
    two.sweep()
    assert [two.get_next_partition() is not None for _ in range(3)] == [True, True, False]
    assert len(two.partitions(PartitionStatus.ASSIGNED)) == 2
