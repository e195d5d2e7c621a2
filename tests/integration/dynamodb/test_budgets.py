"""The request budgets of the protocol: counted where botocore sends, and in units as DynamoDB Local reports them."""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from airflow_coordination.leases import PartitionIdentifier, Settings, SourceCoordinator
from airflow_coordination.leases.heartbeat import Heartbeat
from airflow_coordination.monitoring.owners import owners
from airflow_coordination.spark.balance import look_at
from airflow_coordination.stores.dynamodb.client import make_client
from airflow_coordination.streams import TRIM_HORIZON, HashRange, NewLease
from airflow_coordination.systems.kinesis.checkpoint import Checkpoint
from airflow_coordination.systems.kinesis.shards import Stream
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.values.status import ASSIGNED, CLOSED
from airflow_coordination.values.times import Randomness, SystemClock
from benchmarks.dynamodb.data_prepper import make_table
from benchmarks.dynamodb.requests import Requests
from tests.integration.dynamodb.engine import Engine
from tests.sent.place import OWNER, Place, joined, some_held, started

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "dynamodb-budgets.md"
INDEX = "source-status"
ENDINGS, PAYLOAD = 3, 360
"""A renewal costs one unit up to so many endings, or bytes of payload; as the page says."""
NATIVE = pytest.param(("local", "native"), id="native", marks=pytest.mark.dynamodb)
THEIRS = pytest.param(("local", "theirs"), id="data_prepper", marks=pytest.mark.dynamodb)
MOTO = pytest.param(("moto", "native"), id="moto", marks=pytest.mark.long)
on_local = pytest.mark.parametrize("counted", [NATIVE, THEIRS], indirect=True)
"""Where units count: moto reports the same for everything."""


@dataclass(frozen=True)
class Counted:
    """A table that is set up, and what is sent to it."""

    engine: Engine
    requests: Requests
    table: str
    clock: FakeClock
    numbers: Iterator[int]

    def place(self) -> Place:
        """Return a process that has started, and a source of its own."""
        store = self.engine.store(self.table, self.clock)
        return started(store, self.clock, f"flights-{next(self.numbers):04}")


@pytest.fixture(scope="module", params=[NATIVE, THEIRS, MOTO])
def counted(request: pytest.FixtureRequest) -> Iterator[Counted]:
    """A table of each layout on DynamoDB Local, and one on moto."""
    name, layout = request.param
    endpoint = request.getfixturevalue(name).endpoint
    table = f"budgets-{uuid4().hex}"
    with closing(make_client(Engine(endpoint, None).options(table))) as client:
        engine = Engine(endpoint, client)
        if layout == "theirs":
            make_table(client, table)
        engine.store(table).setup()
        yield Counted(engine, Requests(client, capacity=True), table, FakeClock(), count())
        engine.delete(table)


def test_counting_reads_the_source_once_and_then_serves(counted: Counted) -> None:
    place = counted.place()
    place.c.create_partitions(["a"])
    with counted.requests.counted() as first:
        place.c.counts()
    with counted.requests.counted() as second:
        counted.engine.store(counted.table, counted.clock).counts(f"{place.c.source}|PARTITION")
    assert (first.sent["Query"], second.sent) == (1, Counter(GetItem=2))  # a new process starts with one


LISTINGS: dict[str, Callable[[Place, str], object]] = {
    "owners": lambda at, source: owners(at.store, source),
    "the board's parked": lambda at, source: at.store.page(source, CLOSED, None, 400, parked=True),
    "what is closed": lambda at, source: at.store.page(source, CLOSED, None, 100, parked=False),
    "a worker's balance": lambda at, source: look_at(at.c),
    "the command's list": lambda at, source: at.c.partitions(ASSIGNED, limit=50),
}


@pytest.mark.parametrize("listing", LISTINGS)
def test_z3_what_is_listed_by_status_costs_what_is_shown(counted: Counted, listing: str) -> None:
    """Z3: also P12 on DynamoDB: five times the partitions, the same number of items read."""
    numbers: list[int] = []
    for partitions in (40, 200):
        place = counted.place()
        some_held(place, partitions)
        joined(place, 3)
        read: list[int] = []
        client = counted.engine.client

        def heard(parsed: dict[str, Any], read: list[int] = read, **_: Any) -> None:
            found = parsed.get("Responses") or {}
            read.append(
                parsed.get("ScannedCount", 0) + sum(map(len, found.values() if isinstance(found, dict) else ()))
            )

        client.meta.events.register("after-call.dynamodb", heard, "items-read")
        shown = LISTINGS[listing](place, f"{place.c.source}|PARTITION")
        client.meta.events.unregister("after-call.dynamodb", heard, "items-read")
        assert shown
        numbers.append(sum(read))
    assert numbers[0] == numbers[1] <= 40


@contextmanager
def _first_two_together(client: Any) -> Iterator[None]:
    """Hold the first request until there is a second one: an engine that is quick answers it before otherwise."""
    together, first_two = threading.Barrier(2), iter(range(2))

    def hold(**_: Any) -> None:
        if next(first_two, None) is not None:
            with suppress(threading.BrokenBarrierError):
                together.wait(30)

    client.meta.events.register("before-send.dynamodb", hold, "first-two-together")
    yield
    client.meta.events.unregister("before-send.dynamodb", hold, "first-two-together")


def test_creating_is_one_put_for_each_some_at_a_time(counted: Counted) -> None:
    place = counted.place()
    place.c.supplying.register()
    with counted.requests.counted() as tally, _first_two_together(counted.engine.client):
        place.c.create_partitions(map(str, range(50)))
    assert tally.sent == Counter(PutItem=50)
    assert 1 < tally.most_at_once <= 8


def _renewal(counted: Counted, endings: int = 0, payload: dict[str, Any] | None = None) -> float:
    """Return the units that a renewal writes to the table."""
    place = counted.place()
    place.c.create_partitions([PartitionIdentifier("flights/2013/01/01", payload)])
    for _ in range(endings):
        lease = place.c.acquire_partition("flights/2013/01/01")
        assert lease is not None
        place.c.give_up(lease)
    lease = place.c.acquire_partition("flights/2013/01/01")
    assert lease is not None
    place.clock.advance(1)
    with counted.requests.counted() as tally:
        place.c.renew(lease)
    return tally.written["table"]


@on_local
@pytest.mark.parametrize(("endings", "units"), [(ENDINGS, 1), (ENDINGS + 1, 2), (12, 2)])
def test_endings_make_a_renewal_dearer(counted: Counted, endings: int, units: int) -> None:
    assert _renewal(counted, endings) == units


@on_local
@pytest.mark.parametrize(("size", "units"), [(PAYLOAD, 1), (PAYLOAD + 40, 2)])
def test_a_payload_makes_a_renewal_dearer(counted: Counted, size: int, units: int) -> None:
    assert _renewal(counted, payload={"": "x" * (size - len('{"":""}'))}) == units


STREAM = Stream.of("arn:aws:kinesis:eu-central-1:123456789012:stream/orders", datetime(2026, 11, 1, tzinfo=UTC))
SHARD = STREAM.identifier(NewLease("shardId-000000000017", TRIM_HORIZON, ()), HashRange(2**127, 2**128 - 1))
PLACE_IN_SHARD = {
    "after": Checkpoint("49680535391540195117345986606904963048521481640206139394", 4).to_json(),
    "at": "2026-11-24T23:22:34.123456+00:00",
}


class Minutes(SystemClock):
    """Lets a heartbeat's waiting pass at once, and saves once a minute meanwhile.

    :param clock: the store's, which moves.
    :param save: saves.
    :param minutes: after which the heartbeat is stopped.
    """

    def __init__(self, clock: FakeClock, save: Callable[[], object], minutes: int) -> None:
        self._clock, self._save = clock, save
        self._saves = [clock.monotonic() + 60 * minute for minute in range(1, minutes + 1)]

    def now(self) -> datetime:
        return self._clock.now()

    def monotonic(self) -> float:
        return self._clock.monotonic()

    def wait(self, event: threading.Event, seconds: float) -> bool:
        if threading.current_thread().name.startswith("deadline"):
            return event.wait(30)
        until = self.monotonic() + seconds
        while self._saves and self._saves[0] <= until:
            self._clock.advance(self._saves.pop(0) - self.monotonic())
            self._save()
            if not self._saves:
                event.set()
        self._clock.advance(max(0.0, until - self.monotonic()))
        return event.is_set()


def _units_a_minute(counted: Counted, settings: Settings, endings: int) -> float:
    """Return what a shard costs while a real heartbeat holds it for half an hour, with a checkpoint a minute."""
    place = counted.place()
    c = SourceCoordinator(place.store, place.c.source, OWNER, settings=settings, clock=place.clock)
    c.create_partitions([SHARD])
    for _ in range(endings):
        lease = c.acquire_partition(SHARD.key)
        assert lease is not None
        c.close(lease, timedelta(0), PLACE_IN_SHARD)
        place.clock.advance(1)
        c.sweep()
    lease = c.acquire_partition(SHARD.key)
    assert lease is not None
    waiting = Minutes(place.clock, lambda: c.save_progress_state(lease, PLACE_IN_SHARD), minutes=30)
    drawn = Randomness(random.Random(endings))
    heartbeat = Heartbeat(c.renew, lease, lambda error: None, settings, clock=waiting, randomness=drawn)
    with counted.requests.counted() as tally:
        heartbeat._run()
    heartbeat.stop()
    assert heartbeat.lost is None
    again = c.partition(SHARD.key)
    assert again is not None
    assert len(again.endings) == endings
    return (tally.written["table"] + tally.written[INDEX]) / 30


@pytest.mark.parametrize("counted", [NATIVE], indirect=True)
@pytest.mark.parametrize("endings", [0, 1, 8])
@pytest.mark.parametrize(("seconds", "renewals"), [(60, 4), (600, 10)])
def test_units_of_a_shard_in_a_minute(counted: Counted, seconds: int, renewals: int, endings: int) -> None:
    """KCL: 18.4 without a checkpoint a minute, 23.4 to 24.6 with one; its leases last 10 to 30 s."""
    settings = Settings(ownership_timeout=timedelta(seconds=seconds), renewals_per_lease=renewals)
    units = _units_a_minute(counted, settings, endings)
    print(f"{units:.2f} units a minute")
    assert units <= (5 if seconds == 60 else 2.5)


def test_the_page_says_the_same() -> None:
    text = PAGE.read_text()
    assert f"{ENDINGS} endings" in text
    assert f"{PAYLOAD} bytes" in text
