"""What is said of bad input, and of any text that comes from outside; the root of all errors.

Everything else of the tree is in :mod:`~airflow_coordination.leases.errors`, from where all are imported.
"""

from __future__ import annotations

_SHOWN = 80


def shown(value: object) -> str:
    """Return ``value`` as one short printable line: control and bidi characters escaped, long ones cut."""
    try:
        text = ascii(value)
    except (ValueError, RecursionError):  # Python does not write out every number
        text = f"<{type(value).__name__}>"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}… ({len(text)} characters)"


def printable(text: str, limit: int = 2_000, keep: str = "") -> str:
    """Return ``text`` as one line: line breaks, control and bidi characters escaped, at most ``limit`` characters.

    What comes from outside can then neither forge a line of a log nor steer a terminal.

    :param keep: characters that stay, such as line breaks where a text has several lines by right.
    """
    shortened = text[:limit]
    if not shortened.isprintable():
        shortened = "".join(c if c.isprintable() or c in keep else ascii(c)[1:-1] for c in shortened)[:limit]
    return shortened


class CoordinationError(Exception):
    """Base of every error this package raises on purpose."""


class InvalidInputError(CoordinationError, ValueError):
    """A value from outside cannot be used.

    :param field: the name of the argument, option or column.
    :param value: the value as it was given.
    :param problem: what is wrong with it.
    :param remedy: what to do instead.
    """

    def __init__(self, field: str, value: object, problem: str, remedy: str) -> None:
        super().__init__(field, value, problem, remedy)
        self.field, self.value, self.problem, self.remedy = field, value, problem, remedy

    def __str__(self) -> str:
        return f"{self.field}={shown(self.value)}: {self.problem}. {self.remedy}"


class InvalidKeyError(InvalidInputError):
    """A partition key, source or prefix that no store can hold."""


class PayloadError(InvalidInputError):
    """A payload that is not a JSON object of at most 4 KB."""


class ProgressStateError(InvalidInputError):
    """Progress that cannot be written as JSON, is too big, or cannot be read back (promise S14)."""


class SettingsError(InvalidInputError):
    """A setting that is unknown, of the wrong type, or makes no sense."""
