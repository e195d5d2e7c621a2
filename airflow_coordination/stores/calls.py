"""One call of a store: what it is about, what an engine's exception means for it, and the schema it needs (S16)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from airflow_coordination.values.errors import (
    OutcomeUnknownError,
    PartitionUpdateError,
    SchemaVersionError,
    StoreSlowError,
    StoreThrottledError,
    StoreUnavailableError,
)
from airflow_coordination.values.input_errors import CoordinationError
from airflow_coordination.values.program import TYPED

MIGRATE = (
    f"Run `{TYPED} store migrate --conn-id ID` "
    "(without Airflow: `python -m airflow_coordination store migrate --store URL`)"
)


@dataclass(frozen=True, slots=True)
class Call:
    """A call to the store, named for its errors.

    :param action: the verb, for example ``complete``.
    :param key: the partition, empty when it is about several.
    :param writes: whether a lost answer leaves it open what the store holds.
    """

    action: str
    key: str = ""
    writes: bool = True

    def _about(self) -> str:
        return f"{self.action} {self.key!r}" if self.key else self.action

    def unavailable(self, reason: object) -> CoordinationError:
        """Return the error for a call that was surely not applied."""
        return StoreUnavailableError(self._about(), one_line(reason))

    def too_slow(self, reason: object) -> CoordinationError:
        """Return the error for a call that the engine cancelled because it took too long."""
        return StoreSlowError(self._about(), one_line(reason))

    def throttled(self, reason: object) -> CoordinationError:
        """Return the error for a call that the engine refused for want of capacity."""
        return StoreThrottledError(self._about(), one_line(reason))

    def lost(self, reason: object) -> CoordinationError:
        """Return the error for a call whose connection ended: a read had no effect, a write may have had."""
        return OutcomeUnknownError(self._about(), one_line(reason)) if self.writes else self.unavailable(reason)

    def refused(self, reason: object, remedy: str = "") -> CoordinationError:
        """Return the error for a call that the engine answered it cannot carry out."""
        return PartitionUpdateError(self.action, self.key, one_line(reason) + (f". {remedy}" if remedy else ""))


def no_schema(store: str, problem: str = "its tables do not exist") -> SchemaVersionError:
    """Return the error for a store that was never set up."""
    return SchemaVersionError(store, problem, MIGRATE)


def one_line(reason: object) -> str:
    """Return the first line of what the engine said; the others repeat the statement and its values."""
    text = str(reason).strip()
    return text.splitlines()[0] if text else type(reason).__name__


THROUGH_OVERLAYS: Final = 12
"""The first schema all of whose code looks through overlays. ``store enable outputs`` makes a store readable by it."""


THROUGH_VIEWS: Final = 14
"""The first schema all of whose code asks what readers shall see: branches that show, intervals that are hidden."""


@dataclass(frozen=True, slots=True)
class StoreFacts:
    """A store's id and schema version.

    :param store_id: given at its set-up, 16 hexadecimal digits; or given to a copy, ``copy-`` before them.
    :param schema_version: its schema.
    :param readable_by: the oldest code, by its schema version, that may work with it.
    """

    store_id: str
    schema_version: int
    readable_by: int

    @property
    def outputs_enabled(self) -> bool:
        """Whether code that knows no overlays is kept out."""
        return self.readable_by >= THROUGH_OVERLAYS

    @property
    def branches_enabled(self) -> bool:
        """Whether code that knows no branches and no hidden intervals is kept out."""
        return self.readable_by >= THROUGH_VIEWS


def check(facts: StoreFacts, description: str, *, known: int, oldest: int) -> None:
    """Refuse a store that this code does not understand.

    :param known: the schema that this code writes.
    :param oldest: the oldest schema that this code works with.
    :raises SchemaVersionError: saying which of the two is too old.
    """
    if facts.readable_by > known:
        problem = f"its schema {facts.schema_version} is too new for this code, which knows schema {known}"
        remedy = "Upgrade airflow-coordination here to the version of the code that migrated the store"
        raise SchemaVersionError(description, problem, remedy)
    if facts.schema_version < oldest:
        problem = f"its schema {facts.schema_version} is too old for this code, which needs {oldest}"
        raise SchemaVersionError(description, problem, MIGRATE)
