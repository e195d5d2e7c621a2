"""What becomes of a connection after a call: only one whose state is known goes back to the others."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager

import pytest

from airflow_coordination.stores.addresses import DatabaseUrl
from airflow_coordination.stores.calls import Call
from airflow_coordination.stores.sql.database import Connections, Database
from airflow_coordination.stores.sql.statements import dialect
from airflow_coordination.values.errors import PartitionUpdateError, StoreUnavailableError
from airflow_coordination.values.input_errors import CoordinationError
from tests.unit.stores.driver import Driver

CALL = Call("look", writes=False)


class DriverError(Exception):
    """What the driver raises."""


class Fake(Database):
    """A database whose connections are such ones."""

    driver_error = DriverError

    def __init__(self) -> None:
        super().__init__(DatabaseUrl("fake"), dialect.sqlite())

    def make_connections(self) -> Connections:
        return Connections(Driver, keep=5, seconds=0.01)

    def setting_up(self) -> AbstractContextManager[object]:  # type: ignore[override]
        raise NotImplementedError

    def meaning(self, error: BaseException, call: Call) -> CoordinationError:
        return call.unavailable(error)

    def is_lost(self, connection: Driver) -> bool:
        return connection.closed


def used(database: Database) -> Driver:
    """Return the connection that a call gets."""
    with database.connected(CALL) as connected:
        found: Driver = connected.connection
        return found


@pytest.fixture
def database() -> Fake:
    return Fake()


def test_what_the_driver_reports_leaves_a_connection_usable(database: Fake) -> None:
    first = used(database)
    with pytest.raises(StoreUnavailableError) as caught, database.connected(CALL):
        raise DriverError
    assert isinstance(caught.value.__cause__, DriverError)
    assert used(database) is first


def test_a_value_that_the_driver_cannot_send_leaves_a_connection_usable(database: Fake) -> None:
    first = used(database)
    with pytest.raises(PartitionUpdateError, match="Give a value that the database can hold"), database.connected(CALL):
        raise OverflowError
    assert used(database) is first


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_whatever_else_happens_leaves_it_in_no_known_state(database: Fake, error: type[BaseException]) -> None:
    first = used(database)
    with pytest.raises(error), database.connected(CALL):
        raise error
    assert first.closed
    assert used(database) is not first


def test_a_lost_connection_takes_the_idle_ones_with_it(database: Fake) -> None:
    with database.connected(CALL) as one, database.connected(CALL) as other:
        both = {one.connection, other.connection}
    lost = used(database)
    lost.closed = True
    with pytest.raises(StoreUnavailableError), database.connected(CALL):
        raise DriverError
    assert all(connection.closed for connection in both)
    assert used(database) not in both


def test_a_forked_child_makes_its_own_and_closes_none_of_its_parent(
    database: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    parents = used(database)
    monkeypatch.setattr(os, "getpid", lambda: -1)
    assert used(database) is not parents
    database.close()
    assert not parents.closed


def test_a_child_that_only_ends_closes_nothing(database: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    parents = used(database)
    monkeypatch.setattr(os, "getpid", lambda: -1)
    database.close()
    assert not parents.closed
