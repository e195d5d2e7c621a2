"""What waits for a source in Airflow's own triggerer: many sensors, one loop; and events for an AssetWatcher."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from contextlib import closing
from datetime import timedelta

import pytest

from airflow_coordination.leases import PartitionStatus, Settings, SourceCoordinator

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]
POLL = 0.3


@pytest.fixture
def flights(store_url):
    from airflow_coordination.stores import open_store

    return SourceCoordinator(
        open_store(store_url), "flights", "test", settings=Settings(retry_delay=timedelta(seconds=1))
    )


@pytest.fixture
def sweeps(monkeypatch):
    """Every sweep that reaches a store, as the source it was for."""
    from airflow_coordination.stores.sql.sqlite_store import SqliteStore

    seen, sweep = [], SqliteStore.sweep

    def counted(self, write):
        seen.append(write.source)
        return sweep(self, write)

    monkeypatch.setattr(SqliteStore, "sweep", counted)
    return seen


@pytest.fixture
def waking(store_url):
    """Run a coroutine with a triggerer of its own, which ends with it."""
    from tests.integration.airflow.triggerer import Triggerer

    def run(scenario):
        async def with_triggerer():
            triggerer = Triggerer()
            try:
                await scenario(triggerer)
            finally:
                await triggerer.end()

        asyncio.run(with_triggerer())

    return run


def waiting(**changes):
    from airflow_coordination.triggers import PartitionsTrigger

    usual = {
        "source": "flights",
        "coordination_conn_id": "coordination_default",
        "partition_prefix": None,
        "until": "claimable",
        "max_hints": 100,
        "poke_interval": POLL,
    }
    return PartitionsTrigger(**usual | changes)


def watching(**changes):
    from airflow_coordination.triggers import ClaimablePartitionsTrigger

    return ClaimablePartitionsTrigger(**{"source": "flights", "poke_interval": POLL} | changes)


def close_one(flights, reopen_after=timedelta(hours=1)):
    flights.create_partitions(["a"])
    flights.close(flights.get_next_partition(), reopen_after=reopen_after)


def reopen(flights):
    flights.people.park("a", by="test", why="test")
    flights.people.reopen("a", by="test", why="test")


def test_l9_twenty_sensors_on_a_source_cause_one_sweep_per_interval(waking, flights, sweeps):
    from tests.integration.airflow.triggerer import until

    close_one(flights)

    async def scenario(triggerer):
        started = time.monotonic()
        numbers = [await triggerer.start(waiting(max_hints=1 + number)) for number in range(20)]
        await until(lambda: len(sweeps) >= 4)
        assert len(sweeps) <= 1 + (time.monotonic() - started) / POLL
        await asyncio.to_thread(reopen, flights)
        await until(lambda: all(triggerer.events[number] for number in numbers))
        assert {len(triggerer.events[number]) for number in numbers} == {1}
        assert {event["verdict"] for [event] in triggerer.events.values()} == {"ready"}
        await until(lambda: not triggerer.loops)

    waking(scenario)
    assert len(set(sweeps)) == 1


def test_each_decides_by_its_own_arguments_on_the_shared_look(waking, flights):
    """Sensors of both kinds and a watcher share one loop; another source has its own."""
    from tests.integration.airflow.triggerer import until

    flights.create_partitions(["a", "b", "c"])
    SourceCoordinator(flights.store, "trains", "test").create_partitions(["t"])

    async def scenario(triggerer):
        completed = await triggerer.start(waiting(until="completed"))
        one = await triggerer.start(waiting(max_hints=1))
        all_three = await triggerer.start(waiting())
        watcher = await triggerer.start(watching())
        trains = await triggerer.start(waiting(source="trains", until="completed"))
        await until(lambda: {one, all_three, watcher} <= triggerer.events.keys())
        assert len(triggerer.events[one][0]["hints"]) == 1
        assert len(triggerer.events[all_three][0]["hints"]) == 3
        assert triggerer.events[watcher] == [{"source": "flights", "claimable": 3, "first": "a"}]
        assert not triggerer.events.keys() & {completed, trains}
        assert triggerer.loops == 2

    waking(scenario)


def test_the_loop_ends_with_its_last_trigger(waking, flights, sweeps):
    from tests.integration.airflow.triggerer import until

    close_one(flights)

    async def scenario(triggerer):
        first, second = [await triggerer.start(waiting()) for _ in range(2)]
        await until(lambda: sweeps)
        await triggerer.cancel(first)
        before = len(sweeps)
        await until(lambda: len(sweeps) > before)
        await triggerer.cancel(second)
        assert triggerer.loops == 0
        after = len(sweeps)
        await asyncio.sleep(3 * POLL)
        assert len(sweeps) == after

    waking(scenario)


def test_what_cannot_go_well_ends_every_sensor_and_says_why(waking, flights):
    from tests.integration.airflow.triggerer import until

    close_one(flights)

    async def scenario(triggerer):
        unknown = [await triggerer.start(waiting(source="fligths")) for _ in range(2)]
        nowhere = await triggerer.start(waiting(coordination_conn_id="nowhere"))
        await until(lambda: {*unknown, nowhere} <= triggerer.events.keys())
        assert {triggerer.events[number][0]["verdict"] for number in (*unknown, nowhere)} == {"error"}
        assert "Did you mean 'flights'?" in triggerer.events[unknown[1]][0]["message"]
        assert "The connection 'nowhere' is not defined" in triggerer.events[nowhere][0]["message"]

    waking(scenario)


def test_an_outage_is_survived_and_said_in_every_log(waking, flights, store_url, monkeypatch, capsys):
    from tests.integration.airflow.triggerer import until

    monkeypatch.setenv("AIRFLOW__COORDINATION__REQUEST_DEADLINE", "0.5")
    monkeypatch.setattr("airflow_coordination.stores.sql.sqlite.BUSY_SECONDS", 0.1)
    close_one(flights)
    said = []

    def complaints():
        said.append(capsys.readouterr().out)
        return "".join(said).count("database is locked")

    async def scenario(triggerer):
        numbers = [await triggerer.start(trigger) for trigger in (waiting(), waiting(), watching())]
        with closing(sqlite3.connect(store_url.removeprefix("sqlite:///"), isolation_level=None)) as other:
            other.execute("BEGIN EXCLUSIVE")
            await until(lambda: complaints() >= len(numbers))
            assert not triggerer.events
        await asyncio.to_thread(reopen, flights)
        await until(lambda: set(numbers) <= triggerer.events.keys())

    waking(scenario)


def new(flights):
    flights.create_partitions(["a"])


def due(flights):
    close_one(flights, timedelta(seconds=1))


def failed(flights):
    flights.create_partitions(["a"])
    flights.fail(flights.get_next_partition(), "no memory")


def lost(flights):
    """Its owner never comes back."""
    short = SourceCoordinator(flights.store, "flights", "gone", ownership_timeout=timedelta(seconds=1))
    flights.create_partitions(["a"])
    short.get_next_partition()


@pytest.mark.parametrize("happens", [new, due, failed, lost])
def test_l3_a_watcher_tells_of_work_as_soon_as_it_can_be_acquired(waking, flights, sweeps, happens):
    """Without any run: the trigger sweeps. The source need not be known before."""
    from tests.integration.airflow.triggerer import until

    async def scenario(triggerer):
        watcher = await triggerer.start(watching(poke_interval=1.0))
        await until(lambda: sweeps)
        await asyncio.to_thread(happens, flights)
        await until(lambda: triggerer.events)
        assert triggerer.events[watcher] == [{"source": "flights", "claimable": 1, "first": "a"}]
        # It may be due between the watcher's sweep and its look: then the next sweep finds it.
        await until(lambda: flights.partition("a").status is PartitionStatus.UNASSIGNED)

    waking(scenario)


def test_a_watcher_does_not_tell_of_the_same_work_again_until_it_reminds(waking, flights, sweeps):
    from tests.integration.airflow.triggerer import until

    flights.create_partitions(["a", "b"])

    async def scenario(triggerer):
        patient = await triggerer.start(watching())
        reminding = await triggerer.start(watching(remind_after=2 * POLL))
        await until(lambda: len(triggerer.events[reminding]) == 2)
        assert len(triggerer.events[patient]) == 1
        await asyncio.to_thread(flights.create_partitions, ["c"])
        await until(lambda: len(triggerer.events[patient]) == 2)

    waking(scenario)


def test_x12_a_watcher_tells_of_nothing_while_the_source_is_paused(waking, flights, sweeps):
    """And of all that waits, once it is resumed: also of what it has told of before."""
    from tests.integration.airflow.triggerer import until

    flights.create_partitions(["a"])

    async def scenario(triggerer):
        watcher = await triggerer.start(watching())
        await until(lambda: len(triggerer.events[watcher]) == 1)
        await asyncio.to_thread(flights.pausing.pause, by="ana", why="why")
        seen = len(sweeps)
        await asyncio.to_thread(flights.create_partitions, ["b"])
        await until(lambda: len(sweeps) >= seen + 3)
        assert len(triggerer.events[watcher]) == 1
        await asyncio.to_thread(flights.pausing.resume, by="ana", why="why")
        await until(lambda: len(triggerer.events[watcher]) == 2)
        assert triggerer.events[watcher][-1] == {"source": "flights", "claimable": 2, "first": "a"}

    waking(scenario)


def test_after_a_restart_a_watcher_tells_once_of_what_is_there(waking, flights):
    from tests.integration.airflow.triggerer import until

    flights.create_partitions(["a"])

    async def scenario(triggerer):
        await triggerer.start(watching())
        await until(lambda: triggerer.events)

    waking(scenario)
    waking(scenario)


def test_the_stored_trigger_is_the_one_in_the_dag_file(store_url):
    """Airflow compares them by hash at each parse; another hash would make another trigger each time. No secrets."""
    from airflow.models.trigger import Trigger
    from airflow.triggers.base import BaseEventTrigger

    trigger = watching(poke_interval=timedelta(seconds=5), partition_prefix="north")
    row = Trigger.from_object(trigger)
    assert BaseEventTrigger.hash(*trigger.serialize()) == BaseEventTrigger.hash(row.classpath, row.kwargs)
    assert trigger.serialize()[1] == {
        "source": "flights",
        "coordination_conn_id": "coordination_default",
        "partition_prefix": "north",
        "poke_interval": 5.0,
        "remind_after": 60.0,
    }


@pytest.mark.parametrize("name", ["poke_interval", "remind_after"])
def test_a_watchers_times_are_above_zero(name):
    from airflow_coordination.leases import SettingsError

    with pytest.raises(SettingsError, match=f"{name}=0: is not above zero"):
        watching(**{name: 0})
