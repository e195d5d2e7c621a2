"""Findings on an installation, for ``airflow coordination doctor``."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from airflow_coordination.values.errors import SchemaVersionError, StoreUnavailableError
from airflow_coordination.values.input_errors import CoordinationError, InvalidInputError

_NOT_REACHED: Final = "Check the address, the network, and that the service runs"


class Verdict(StrEnum):
    """The meaning of a finding."""

    OK = "ok"
    WRONG = "wrong"
    """Work will fail or stop here."""
    UNKNOWN = "unknown"
    """This process could not look."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at.

    :param check: the thing that was looked at.
    :param verdict: its meaning.
    :param found: the observation.
    :param remedy: the way out, empty when all is well.
    """

    check: str
    verdict: Verdict
    found: str
    remedy: str = ""


def looked(check: str, look: Callable[[], Iterable[Finding]]) -> list[Finding]:
    """Return the findings of ``look``; an error of ours is one, too."""
    try:
        return list(look())
    except CoordinationError as error:
        return [finding_of(check, error)]


def finding_of(check: str, error: CoordinationError) -> Finding:
    """Return the finding that an error is: with its own remedy where it has one apart from its text."""
    if isinstance(error, InvalidInputError | SchemaVersionError):
        found = str(error).removesuffix(error.remedy).rstrip(". ")
        return Finding(check, Verdict.WRONG, found, error.remedy)
    if isinstance(error, StoreUnavailableError):
        return Finding(check, Verdict.WRONG, str(error), _NOT_REACHED)
    return Finding(check, Verdict.WRONG, str(error))
