"""Watching a source."""

import re
import sys
from datetime import timedelta

import pytest

from airflow_coordination.cli.subcommands.watching import Watcher
from airflow_coordination.leases import Owner, SourceCoordinator, StoreUnavailableError
from airflow_coordination.monitoring.progress import WINDOW, Progress
from airflow_coordination.stores import StoreParts, open_store
from airflow_coordination.testing.clock import FakeClock
from tests.unit.cli.conftest import HOSTILE


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def source(clock):
    coordinator = SourceCoordinator(
        open_store("memory://", clock=clock), "flights", "test", max_failures=1, clock=clock
    )
    coordinator.create_partitions([f"k{number}" for number in range(10)])
    return coordinator


def complete(source, number):
    for _ in range(number):
        source.complete(source.get_next_partition())


def test_the_rate_is_that_of_the_newest_looks(source, clock):
    watcher = Watcher(source, clock)
    assert watcher.look().rate.per_minute == 0
    clock.advance(timedelta(minutes=1))
    complete(source, 2)
    assert watcher.look().rate.per_minute == pytest.approx(2)
    clock.advance(timedelta(minutes=1))
    complete(source, 4)
    seen = watcher.look()
    assert seen.rate.per_minute == pytest.approx(3)
    assert (seen.left, seen.total) == (4, 10)
    assert seen.remaining == timedelta(minutes=4 / 3)
    assert str(seen) == (
        "6 of 10 completed, 0 held, 4 claimable, 0 delayed, 0 parked; "
        "3.0 a minute, about 0:01:20 left (0:00:31 or more)"
    )
    clock.advance(WINDOW + timedelta(seconds=1))
    # The window has this look alone, so the history tells.
    assert watcher.look().rate.per_minute == pytest.approx(6 * 60 / 361)


def test_the_first_look_tells_the_rate_of_the_history(source, clock):
    clock.advance(timedelta(minutes=10))
    complete(source, 2)
    clock.advance(timedelta(minutes=2))
    assert Watcher(source, clock).look().rate.per_minute == pytest.approx(1)


def test_without_a_history_the_second_look_tells_it(source, clock, monkeypatch):
    monkeypatch.setattr(source.store, "parts", StoreParts)
    assert str(Watcher(source, clock).look()).endswith("known at the next look")


def test_nothing_moves(source, clock):
    watcher = Watcher(source, clock)
    watcher.look()
    clock.advance(timedelta(minutes=1))
    seen = watcher.look()
    assert (seen.remaining, str(seen).endswith("nothing was completed in the time looked at")) == (None, True)


def test_it_looks_until_nothing_is_left_to_do(source, clock, monkeypatch):
    slept = []
    monkeypatch.setattr(clock, "sleep", lambda seconds: (slept.append(seconds), complete(source, 5)))
    seen = list(Watcher(source, clock).looks(2.0, None))
    assert [look.left for look in seen] == [10, 5, 0]
    assert slept == [2.0, 2.0]
    assert str(seen[-1]).endswith("; done")


def test_parked_partitions_are_a_persons(source, clock):
    complete(source, 9)
    source.fail(source.get_next_partition(), "boom")
    [seen] = Watcher(source, clock).looks(2.0, None)
    assert str(seen).endswith("0 delayed, 1 parked; only a person can move the 1 parked")


def test_an_outage_is_seen_and_waited_for(source, clock, monkeypatch):
    outlook, calls = source.looking.outlook, []

    def broken_once():
        calls.append(1)
        if len(calls) == 1:
            raise StoreUnavailableError("look ahead", "the server is gone")
        return outlook()

    monkeypatch.setattr(source.looking, "outlook", broken_once)
    first, second = Watcher(source, clock).looks(2.0, 2)
    assert "the server is gone" in str(first)
    assert isinstance(second, Progress)


def test_a_line_for_each_look_where_there_is_no_terminal(flights, cli):
    code, out, _ = cli("watch", "flights", "--looks", "2", "--interval", "0.01")
    assert code == 0
    first, second = out.splitlines()
    assert first.startswith("0 of 3 completed, 0 held, 3 claimable")
    assert second.endswith("nothing was completed in the time looked at")


def test_a_bar_on_a_terminal(flights, cli, monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    flights.complete(flights.acquire_partition("2013-01"))
    code, out, _ = cli("watch", "flights", "--looks", "1")
    assert code == 0
    assert "flights: " in out
    assert "1 of 3 completed" in " ".join(out.split())


def test_owners_on_a_terminal(flights, cli, monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setenv("TERM", "xterm")  # one that calls itself dumb has 80 columns, whatever COLUMNS says
    task = SourceCoordinator(flights.store, "flights", Owner.of_task("h", "flights", "r", "process", 3, 2).text)
    task.acquire_partition(HOSTILE)
    out = " ".join(cli("watch", "flights", "--looks", "1")[1].split())
    assert "a\\x1b[31m\\u202eb\\ttab task 'process', map index 3, try 2, of run 'r' of DAG 'flights' on host 'h'" in out
    assert re.search(r"on host 'h' 9 min \d+ s left", out)


def test_more_owners_than_a_terminal_shall_show(flights, cli, monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    flights.create_partitions([f"k{number}" for number in range(10)])
    for number in range(9):
        flights.acquire_partition(f"k{number}")
    out = cli("watch", "flights", "--looks", "1")[1]
    assert "k7" in out
    assert "k8" not in out
    assert "… and others: python -m airflow_coordination owners flights" in " ".join(out.split())


def test_owners_that_cannot_be_read_do_not_end_the_watch(flights, cli, monkeypatch):
    def broken(*_):
        raise StoreUnavailableError("list partitions", "the server is gone")

    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setattr("airflow_coordination.cli.subcommands.watching.owners", broken)
    code, out, _ = cli("watch", "flights", "--looks", "1")
    assert (code, "0 of 3 completed" in " ".join(out.split())) == (0, True)


def test_ctrl_c_leaves(flights, cli, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Watcher, "look", interrupted)
    assert cli("watch", "flights")[0] == 0


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (("--interval", "0"), "--interval=0.0: is no time to wait. Give seconds above 0"),
        (("--interval", "nan"), "--interval=nan: is no time to wait"),
        (("--looks", "0"), "--looks=0: is no number of looks"),
    ],
)
def test_what_cannot_be_watched_is_refused(flights, cli, argv, message):
    code, _, err = cli("watch", "flights", *argv)
    assert code == 1
    assert message in err
