"""Everything that can go wrong, as one small tree.

::

    CoordinationError
    ├── InvalidInputError (also a ValueError): names the field, the value and the remedy
    │   ├── InvalidKeyError
    │   ├── ParentCycleError
    │   ├── PayloadError
    │   ├── ProgressStateError
    │   ├── SettingsError
    │   └── UnknownParentError
    ├── PartitionNotFoundError
    ├── PartitionNotOwnedError
    ├── PartitionUpdateError
    │   └── BranchError
    ├── ConfigurationChangedError
    ├── OutcomeUnknownError
    ├── StoreUnavailableError
    │   ├── StoreSlowError
    │   └── StoreThrottledError
    ├── StoreMismatchError
    ├── SchemaVersionError
    ├── NoProgressError
    ├── DeploymentError
    └── ForkedChildError

Back-end exceptions never leave a store: they are wrapped at its edge and chained as ``__cause__``.
Every exception keeps its arguments in ``args``, so that it survives pickling between processes.
"""

from __future__ import annotations

from typing import Final

from airflow_coordination.values.fence import Ending, Fence, Owner
from airflow_coordination.values.input_errors import CoordinationError, printable, shown
from airflow_coordination.values.program import TYPED

__all__ = [
    "BranchError",
    "ConfigurationChangedError",
    "DeploymentError",
    "ForkedChildError",
    "NoProgressError",
    "OutcomeUnknownError",
    "PartitionNotFoundError",
    "PartitionNotOwnedError",
    "PartitionUpdateError",
    "SchemaVersionError",
    "StoreMismatchError",
    "StoreSlowError",
    "StoreThrottledError",
    "StoreUnavailableError",
]


class PartitionNotFoundError(CoordinationError):
    """No such partition (Data Prepper: ``PartitionNotFoundException``).

    :param key: the partition key.
    :param source: the source it was looked up in.
    :param deleted_by: who deleted it, and why, where the owner of a lease is told; ``None`` where nobody knows.
    """

    def __init__(self, key: str, source: str, deleted_by: str | None = None) -> None:
        super().__init__(key, source, deleted_by)
        self.key, self.source, self.deleted_by = key, source, deleted_by

    def __str__(self) -> str:
        if self.deleted_by is not None:
            return (
                f"Partition {shown(self.key)} of source {shown(self.source)} was deleted {self.deleted_by}. "
                "Stop this work: nothing it writes counts any more. Run the supplier to create the partition anew."
            )
        return (
            f"Partition {shown(self.key)} does not exist in source {shown(self.source)}. "
            "If it was deleted by hand, run the supplier again to create it anew."
        )


class PartitionNotOwnedError(CoordinationError):
    """The fence this call was made under is no longer the current one (Data Prepper: ``PartitionNotOwnedException``).

    :param key: the partition key.
    :param held: the fence the caller holds.
    :param current: the fence the partition has now, ``None`` when it has none.
    :param ending: how the caller's own tenure ended, ``None`` when nobody can tell any more.
    :param owner: who holds the partition now, ``None`` when nobody does.
    """

    def __init__(
        self, key: str, held: Fence, current: Fence | None, ending: Ending | None, owner: str | None = None
    ) -> None:
        super().__init__(key, held, current, ending, owner)
        self.key, self.held, self.current, self.ending, self.owner = key, held, current, ending, owner

    def __str__(self) -> str:
        holder = f"it is now held by {shown(Owner(self.owner).plain)}" if self.owner else "nobody holds it now"
        if self.owner and self.current:
            holder += f" under fence {self.current}"
        how = f"this tenure ended: {self.ending}" if self.ending else "how this tenure ended is no longer known"
        return (
            f"Partition {shown(self.key)} is not owned under fence {self.held}: {how}; {holder}. "
            "Stop this work: nothing it writes counts any more."
        )


class PartitionUpdateError(CoordinationError):
    """The store answered that it cannot carry out this write (Data Prepper: ``PartitionUpdateException``).

    :param action: what was attempted, for example ``"complete"``.
    :param key: the partition key.
    :param reason: why, and what to do.
    """

    def __init__(self, action: str, key: str, reason: str) -> None:
        super().__init__(action, key, reason)
        self.action, self.key, self.reason = action, key, reason

    def __str__(self) -> str:
        about = f" partition {shown(self.key)}" if self.key else ""
        return f"Cannot {self.action}{about}: {self.reason}"


class BranchError(PartitionUpdateError):
    """A branch does not allow it: nobody would see the result, or it would hide what readers see (promise S22).

    Trying the same again fares no better, so a tenure that ends so is parked at once.

    :param action: what was attempted.
    :param key: the partition key.
    :param reason: which branch, why, and the ways out.
    """


class ConfigurationChangedError(CoordinationError):
    """Others have set meanwhile what somebody was about to set; nothing was changed.

    :param told: what they have set, who, when and why, a sentence each.
    :param version: the newest one.
    """

    def __init__(self, told: tuple[str, ...], version: int) -> None:
        super().__init__(told, version)
        self.told, self.version = told, version

    def __str__(self) -> str:
        return (
            f"The configuration has changed meanwhile: {'; '.join(self.told)}. Nothing was changed. "
            f"Look at version {self.version} of it, then say again what you want."
        )


class OutcomeUnknownError(CoordinationError):
    """A write may or may not have been applied, and the store could not be asked until the deadline (promise S6).

    :param action: what was attempted.
    :param reason: the last thing the store's connection said.
    """

    def __init__(self, action: str, reason: str) -> None:
        super().__init__(action, reason)
        self.action, self.reason = action, reason

    def __str__(self) -> str:
        return (
            f"It is not known whether {self.action} was applied: {self.reason}. Nothing can count twice; "
            f"the next owner, or `{TYPED} show`, sees what the store holds."
        )


class StoreUnavailableError(CoordinationError):
    """No attempt can have reached the store, so nothing was written.

    :param action: what was attempted.
    :param reason: what the connection said.
    """

    def __init__(self, action: str, reason: str) -> None:
        super().__init__(action, reason)
        self.action, self.reason = action, reason

    def __str__(self) -> str:
        return f"The store could not be reached to {self.action}: {self.reason}. Nothing was written; try again."


class StoreSlowError(StoreUnavailableError):
    """The store can be reached, and has cancelled every attempt because it took too long, so nothing was written.

    :param action: what was attempted.
    :param reason: what the store said.
    """

    def __str__(self) -> str:
        return (
            f"The store was too slow to {self.action}: {self.reason}. Nothing was written; try again, or raise "
            "statement_timeout."
        )


class StoreThrottledError(StoreUnavailableError):
    """The store has refused every attempt for want of capacity, so nothing was written.

    :param action: what was attempted.
    :param reason: what the store said.
    """

    def __str__(self) -> str:
        return (
            f"The store has no capacity left to {self.action}: {self.reason}. Nothing was written; "
            "try again later, or give the store more capacity."
        )


class StoreMismatchError(CoordinationError):
    """Two parts of a deployment do not talk to the same store (promise S18).

    :param expected: id of the store the other side used.
    :param actual: id of the store used here.
    :param where: what carried the expected id.
    """

    def __init__(self, expected: str, actual: str, where: str) -> None:
        super().__init__(expected, actual, where)
        self.expected, self.actual, self.where = expected, actual, where

    def __str__(self) -> str:
        return (
            f"{self.where} belongs to store {self.expected}, but this process uses store {self.actual}. "
            "Give both the same store URL or connection."
        )


class SchemaVersionError(CoordinationError):
    """The store was made by code that is too new or too old for this one (promise S16).

    :param store: the store, without credentials.
    :param problem: what does not fit.
    :param remedy: the command to run.
    """

    def __init__(self, store: str, problem: str, remedy: str) -> None:
        super().__init__(store, problem, remedy)
        self.store, self.problem, self.remedy = store, problem, remedy

    def __str__(self) -> str:
        return f"Store {self.store}: {self.problem}. {self.remedy}"


class NoProgressError(CoordinationError):
    """Work under a lease showed no sign of progress for too long (promise L8).

    :param key: the partition key.
    :param seconds: how long nothing was seen, in seconds.
    """

    def __init__(self, key: str, seconds: float) -> None:
        super().__init__(key, seconds)
        self.key, self.seconds = key, seconds

    def __str__(self) -> str:
        return (
            f"Partition {shown(self.key)} showed no progress for {self.seconds:.0f} s; its work is cancelled. "
            "Call lease.alive() in long steps, or raise no_progress_timeout."
        )


class ForkedChildError(CoordinationError):
    """A forked child tried to write under a lease of its parent, which writes the tenure's chain alone.

    :param key: the partition key.
    :param holder: process id of the holder.
    :param process: process id of the child.
    """

    def __init__(self, key: str, holder: int, process: int) -> None:
        super().__init__(key, holder, process)
        self.key, self.holder, self.process = key, holder, process

    def __str__(self) -> str:
        return (
            f"Partition {shown(self.key)} is held by process {self.holder}; process {self.process} was forked from it "
            f"and holds nothing. Return the child's result to process {self.holder}, and save or publish it there."
        )


class DeploymentError(CoordinationError):
    """Work could not begin for a reason that is no partition's: a worker without Java, a root nobody may write to.

    :param problem: what is wrong, and where.
    :param remedy: what to mend.
    """

    def __init__(self, problem: str, remedy: str) -> None:
        super().__init__(problem, remedy)
        self.problem, self.remedy = problem, remedy

    def __str__(self) -> str:
        return f"{self.problem.rstrip('.')}. {self.remedy.rstrip('.')}. No partition is charged with this."


ERROR_LENGTH: Final = 200


def first_line(error: str | None, otherwise: str) -> str:
    """Return the first line of a stored error, printable and at most :data:`ERROR_LENGTH` characters long.

    :param otherwise: what to say where there is none.
    """
    lines = (error or "").strip().splitlines()
    first = printable(lines[0] if lines else otherwise)
    return first if len(first) <= ERROR_LENGTH else f"{first[:ERROR_LENGTH]}…"
