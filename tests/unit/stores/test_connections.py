"""The connections of a process: how many there are, who gets which, and what becomes of those nobody wants."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from airflow_coordination.stores.sql.database import BESIDE, Connections, NoneFreeError
from tests.unit.stores.driver import Driver

KEEP = 2
ALL = KEEP + BESIDE


def pool(connect: Callable[[], Driver] = Driver, seconds: float = 0.01) -> Connections:
    return Connections(connect, keep=KEEP, seconds=seconds)


def test_the_one_that_came_back_last_is_taken_first() -> None:
    connections = pool()
    first, second = connections.take(), connections.take()
    connections.give_back(first)
    connections.give_back(second)
    assert connections.take() is second
    assert connections.take() is first


def test_more_may_be_open_than_are_kept() -> None:
    connections = pool()
    taken = [connections.take() for _ in range(ALL)]
    for one in taken:
        connections.give_back(one)
    assert [one.connection.closed for one in taken] == [False] * KEEP + [True] * BESIDE


def test_whoever_finds_none_free_waits_and_is_told() -> None:
    connections = pool()
    taken = [connections.take() for _ in range(ALL)]
    with pytest.raises(NoneFreeError):
        connections.take()
    connections.drop(taken.pop())
    assert connections.take() not in taken


@pytest.mark.parametrize("end", [Connections.give_back, Connections.drop])
def test_whoever_waits_gets_the_one_that_is_free_next(end: Callable[[Connections, object], None]) -> None:
    connections = pool(seconds=60)
    taken = [connections.take() for _ in range(ALL)]
    got: list[object] = []
    waiting = threading.Thread(target=lambda: got.append(connections.take()))
    waiting.start()
    while not connections._waiting:
        pass
    end(connections, taken[0])
    waiting.join(60)
    assert got == [taken[0]] or end is Connections.drop
    assert len(got) == 1


def test_a_connection_that_cannot_be_made_takes_no_place() -> None:
    refusals = iter([True] * (2 * ALL))

    def connect() -> Driver:
        if next(refusals, False):
            raise ConnectionError
        return Driver()

    connections = pool(connect)
    for _ in range(2 * ALL):
        with pytest.raises(ConnectionError):
            connections.take()
    assert connections.take()


def test_what_is_at_work_when_all_are_closed_is_closed_when_it_comes_back() -> None:
    connections = pool()
    idle, at_work = connections.take(), connections.take()
    connections.give_back(idle)
    connections.close()
    assert (idle.connection.closed, at_work.connection.closed) == (True, False)
    connections.give_back(at_work)
    assert at_work.connection.closed


def test_many_threads_never_share_one() -> None:
    connections = pool(seconds=60)
    in_use: set[int] = set()
    shared: list[int] = []

    def work() -> None:
        for _ in range(200):
            one = connections.take()
            if id(one) in in_use:
                shared.append(id(one))
            in_use.add(id(one))
            in_use.discard(id(one))
            connections.give_back(one)

    threads = [threading.Thread(target=work) for _ in range(2 * ALL)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert shared == []
    assert connections._in_use == 0
