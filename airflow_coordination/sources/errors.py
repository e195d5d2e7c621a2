"""The error of suppliers whose storage or database cannot be read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from airflow_coordination.values.input_errors import CoordinationError, printable
from airflow_coordination.values.scrubbing import without_secrets

_LONGEST: Final = 10_000
"""Of a message, in characters: it may name ten items, and what a library says of each."""


class SourceError(CoordinationError):
    """The place a supplier lists cannot be read, or is not what its options say.

    :param what: the attempt, as a verb.
    :param place: the bucket, directory or table concerned, without credentials.
    :param problem: the problem with it.
    :param remedy: the way out.
    """

    def __init__(self, what: str, place: str, problem: str, remedy: str) -> None:
        super().__init__(what, place, problem, remedy)
        self.what, self.place, self.problem, self.remedy = what, place, problem, remedy

    def __str__(self) -> str:
        said = without_secrets(f"Cannot {self.what}: {self.place} {self.problem}. {self.remedy}")
        return printable(said, limit=_LONGEST, keep="\n\t")


@contextmanager
def wrapped(what: str, place: str) -> Iterator[None]:
    """Turn the exceptions of a client library into :class:`SourceError`; every library has its own."""
    try:
        yield
    except CoordinationError:
        raise
    except Exception as error:
        problem = f"answers {type(error).__name__}: {getattr(error, 'orig', None) or error}"
        raise SourceError(what, place, problem, "Check its name, and that this process may read there") from error
