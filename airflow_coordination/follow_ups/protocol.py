"""What ``then=`` takes: something to do at the source when a partition has ended well."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol, runtime_checkable

from airflow_coordination.leases.partition import Partition
from airflow_coordination.values.input_errors import InvalidInputError


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
