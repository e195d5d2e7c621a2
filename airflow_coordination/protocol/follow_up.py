"""The follow-up of an accepted ending at its source: the note, the shape of an action, and their errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar, Final, NamedTuple, Protocol, runtime_checkable

from airflow_coordination.protocol.partition import Partition
from airflow_coordination.values.input_errors import CoordinationError, InvalidInputError

FORGET: Final = "forget"
"""What the audit calls it."""
MAX_BYTES: Final = 4 * 1024
"""Of a note, in UTF-8: on DynamoDB it costs a write unit for each of its kilobytes."""


@dataclass(frozen=True, slots=True)
class FollowUp:
    """One note, which the commit of an ending, or of a parking, has written.

    :param source: the stored source identifier.
    :param key: the partition key.
    :param token: of the tenure that has ended: the notes of a partition are in the order of its tenures.
    :param op: operation id of the ending, or of the parking.
    :param text: what is to be done, as JSON.
    :param noted_at: when the ending was accepted, by the store's clock; ``None`` before.
    """

    source: str
    key: str
    token: int
    op: str
    text: str
    noted_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Forget:
    """A person takes a note away although what it says is not done.

    :param note: as it was read.
    :param by: who does it.
    :param why: what they said.
    """

    note: FollowUp
    by: str
    why: str


def promised(partition: Partition, text: str | None) -> str | None:
    """Return what a partition keeps of what is to follow when it is parked: it goes with its generation."""
    return None if text is None else f"{partition.generation} {text}"


def of_parked(partition: Partition) -> FollowUp | None:
    """Return the note of what follows a parking: a parked partition is the note itself, until that is done.

    So it was written by whatever has parked it: its owner's failure, the sweep of a lost lease, a person, older code.
    """
    if not partition.parked or partition.on_parked is None:
        return None
    said, at = partition.on_parked, partition.updated_at
    return FollowUp(partition.source, partition.key, partition.token, partition.last_op, said, at)


def check_text(text: str | None, field: str = "then") -> str | None:
    """Return the text of a note, if the stores keep it.

    :param field: what it was given to.
    :raises InvalidInputError: when it is too long.
    """
    size = 0 if text is None else len(text.encode())
    if size > MAX_BYTES:
        problem = f"is {size:,} bytes of JSON, of which {MAX_BYTES:,} fit beside an ending"
        raise InvalidInputError(field, text, problem, "Keep the list in a file and its address here")
    return text


@dataclass(frozen=True, slots=True)
class Carried:
    """What came of an action.

    :param done: of how many things it is done; what somebody else has done already counts.
    :param left_alone: what was left as it is because it is another thing now, each in a few words.
    """

    done: int = 0
    left_alone: tuple[str, ...] = ()

    def __add__(self, other: Carried) -> Carried:
        """Return both together."""
        return Carried(self.done + other.done, self.left_alone + other.left_alone)


class Place(NamedTuple):
    """What an action touches.

    :param kind: ``objects``, ``queues``, ``servers`` or ``urls``: who may do it says so under this name.
    :param address: of it.
    """

    kind: str
    address: str


@runtime_checkable
class SourceAction(Protocol):
    """Something that is done after an accepted ending, at least once; so it may be done twice, and never by halves.

    A value that JSON can hold, without secrets: everybody who may read the store reads it.
    """

    kind: ClassVar[str]
    """What it is called in a note."""

    def pinned(self, partition: Partition) -> SourceAction:
        """Return the action on exactly what is there when the partition ends.

        :param partition: whose payload may say which versions were listed.
        """

    def to_json(self) -> dict[str, Any]:
        """Return its arguments."""

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> SourceAction:
        """Return what :meth:`to_json` gave."""

    def places(self) -> Sequence[Place]:
        """Return all that it touches: whoever finds it in a note must be allowed each of them."""

    def carry_out(self) -> Carried:
        """Do it, or what is left of it.

        :raises CoordinationError: when not all could be done; it is tried again, as a whole.
        """


Then = SourceAction | Sequence[SourceAction | None] | None


def listed_actions(then: Then, field: str = "then") -> tuple[SourceAction, ...]:
    """Return what ``then=`` was given, one after the other; ``None`` is nothing to do.

    :param field: what it was given to.
    :raises InvalidInputError: for anything that is no action.
    """
    listed: Any = then if isinstance(then, list | tuple) else [then]
    given = [each for each in listed if each is not None]
    for each in given:
        if isinstance(each, type) or not isinstance(each, SourceAction):
            raise no_action(each, field)
    return tuple(given)


def no_action(given: object, field: str) -> InvalidInputError:
    """Return the error for what is nothing to do at a source."""
    names = "CallUrl, CommitOffsets, DeleteMessages, DeleteObjects, ShowMessages"
    return InvalidInputError(field, given, "is nothing to do at a source", f"Give one or several of: {names}")


def texts_in(given: object) -> tuple[str, ...]:
    """Return what an action was given for one text or several; none where it is anything else, or one is empty."""
    listed = [given] if isinstance(given, str) else list(given) if isinstance(given, Sequence) else []
    return tuple(listed) if all(isinstance(each, str) and each for each in listed) else ()


class FollowUpError(CoordinationError):
    """Something at the source could not be done; its note stays, and it is tried again.

    :param what: what was to be done, with the place.
    :param problem: the problem with it.
    :param remedy: the way out.
    """

    def __init__(self, what: str, problem: str, remedy: str) -> None:
        super().__init__(what, problem, remedy)
        self.what, self.problem, self.remedy = what, problem, remedy

    def __str__(self) -> str:
        return f"Cannot {self.what}: {self.problem}. {self.remedy}"


class FollowUpNotAllowedError(FollowUpError):
    """A note says something that nobody has allowed who found it; it stays, and waits for a person.

    A note is in the store, and whoever may write there may have written it.
    """
