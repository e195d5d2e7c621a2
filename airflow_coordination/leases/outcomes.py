"""The outcomes that a partition function returns."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from airflow_coordination.protocol.follow_up import Then, listed_actions
from airflow_coordination.values.documents import encode_progress
from airflow_coordination.values.input_errors import InvalidInputError

_RETURNED_NOTHING: Final = "the partition function returned {}; return Complete(), Close(…) or GiveUp(…)"
_EXITED: Final = (
    "the partition function called sys.exit({}) without an outcome; return Complete() when the work is done"
)


def _wait(field: str, value: object) -> None:
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise InvalidInputError(field, value, "has no time zone", "Give an aware datetime, or a timedelta from now")
    elif not isinstance(value, timedelta):
        raise InvalidInputError(field, value, f"is {type(value).__name__}", "Give a timedelta or an aware datetime")
    elif value < timedelta(0):
        raise InvalidInputError(field, value, "is negative", "Give how long from now, zero or more")


@dataclass(frozen=True, slots=True)
class Complete:
    """The partition is done; what it published becomes visible in the same step.

    :param then: what follows at the source, one action or several (``DeleteObjects``, ``DeleteMessages``,
        ``ShowMessages``, ``CommitOffsets``, ``CallUrl``).
        The same step notes it; it is done right after it, or later by the source's ``CreatePartitionsOperator`` or
        ``airflow coordination finish-actions``: at least once, and never without the completion.
    :raises InvalidInputError: when ``then`` is something else.
    """

    then: Then = None

    def __post_init__(self) -> None:
        listed_actions(self.then)


@dataclass(frozen=True, slots=True)
class Close:
    """This pass is done; the partition opens again later (Data Prepper: ``closePartition``).

    :param reopen_after: a duration, or an aware moment.
    :param state: progress for the next pass; ``None`` starts it afresh, and its output replaces this pass's.
    :param then: what follows at the source; see :class:`Complete`.
    :raises InvalidInputError: for a negative duration, a naive datetime, a state that is not JSON, or another ``then``.
    """

    reopen_after: timedelta | datetime
    state: object = None
    then: Then = None

    def __post_init__(self) -> None:
        _wait("reopen_after", self.reopen_after)
        listed_actions(self.then)
        encode_progress(self.state)


@dataclass(frozen=True, slots=True)
class GiveUp:
    """The work cannot be done now; it counts as nothing, and progress that was saved stays.

    :param reason: for people; shown in the task's log.
    :param retry_after: a duration, or an aware moment; at once when ``None``.
    :raises InvalidInputError: for a negative duration or a naive datetime.
    """

    reason: str
    retry_after: timedelta | datetime | None = None

    def __post_init__(self) -> None:
        if self.retry_after is not None:
            _wait("retry_after", self.retry_after)


PartitionOutcome = Complete | Close | GiveUp


def failure_of(result: object) -> BaseException:
    """Return the error that a partition keeps when its function returned no outcome."""
    if isinstance(result, SystemExit):
        return RuntimeError(_EXITED.format(result.code if result.code is not None else ""))
    if isinstance(result, BaseException):
        return result
    return RuntimeError(_RETURNED_NOTHING.format("nothing" if result is None else repr(result)[:100]))
