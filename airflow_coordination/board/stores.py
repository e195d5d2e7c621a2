"""The stores that the board shows: those of the connections in ``[coordination] board_connections``."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from airflow.providers.common.compat.sdk import AirflowException, conf

from airflow_coordination.hooks.connection import DEFAULT_CONNECTION
from airflow_coordination.hooks.coordination import CoordinationHook
from airflow_coordination.hooks.settings import SECTION
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.values.input_errors import CoordinationError, InvalidInputError, SettingsError

_log = logging.getLogger(__name__)


class StoreDoesNotAnswerError(Exception):
    """A store cannot be shown now. The cause is in the API server's log: it may name hosts that not all may know.

    :param connection: the connection's id.
    """

    def __init__(self, connection: str) -> None:
        super().__init__(connection)
        self.connection = connection

    def __str__(self) -> str:
        return f"The store of connection {self.connection} does not answer. The API server's log says why."


def connections() -> list[str]:
    """Return the ids of the connections, in the order of the configuration, each once."""
    named = conf.get(SECTION, "board_connections", fallback="") or DEFAULT_CONNECTION
    return list(dict.fromkeys(name for part in named.split(",") if (name := part.strip())))


def grace_at(connection: str) -> timedelta:
    """Return the ``reassign_grace`` of those who work through a connection, as it and the configuration say.

    :raises SettingsError: when they cannot be read.
    """
    return CoordinationHook(connection).settings({}).reassign_grace


@contextmanager
def opened(connection: str) -> Iterator[PartitionStore]:
    """Open the store of a connection; each process does so once.

    :raises StoreDoesNotAnswerError: when it cannot be opened, or a read inside the block fails.
    :raises InvalidInputError: when the request cannot be sent to any store.
    """
    try:
        yield CoordinationHook(connection).get_conn()
    except (CoordinationError, AirflowException, ImportError) as error:
        if isinstance(error, InvalidInputError) and not isinstance(error, SettingsError):
            raise
        _log.warning("The board cannot read the store of connection %s: %s", connection, error)
        raise StoreDoesNotAnswerError(connection) from error
