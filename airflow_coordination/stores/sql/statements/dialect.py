"""What the two engines say differently."""

from __future__ import annotations

import re
from dataclasses import dataclass

_PARAMETER = re.compile(r"(?<!:):([a-z_0-9]+)")


@dataclass(frozen=True, slots=True)
class Dialect:
    """The differing fragments.

    :param name: ``sqlite`` or ``postgresql``.
    :param now: the store's clock as an expression in microseconds. It is the same throughout one statement
        and the planner may use it as an index bound.
    :param locks: whether rows are locked one by one, so that a busy one has to be skipped.
    """

    name: str
    now: str
    locks: bool

    def text(self, statement: str) -> str:
        """Return ``statement`` with its parameters as this engine's driver writes them."""
        flat = " ".join(statement.split())
        return _PARAMETER.sub(r"%(\1)s", flat) if self.locks else flat


def renamed(statement: str, prefix: str) -> str:
    """Return ``statement`` with ``prefix`` before the name of each parameter, so that two writes can share a text."""
    return _PARAMETER.sub(rf":{prefix}\1", statement)


def sqlite() -> Dialect:
    """Return SQLite's dialect: the host's clock, given with each statement."""
    return Dialect("sqlite", ":now", locks=False)


def postgresql(*, injected_clock: bool) -> Dialect:
    """Return PostgreSQL's dialect: the server's clock at the statement's arrival, unless a test injects one."""
    server = "CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS BIGINT)"
    return Dialect("postgresql", "CAST(:now AS BIGINT)" if injected_clock else server, locks=True)
