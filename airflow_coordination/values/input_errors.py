"""The errors of bad input, and texts from outside made fit to be shown; the root of all errors.

Everything else of the tree is in :mod:`~airflow_coordination.values.errors`, from where all are imported.
"""

from __future__ import annotations

_SHOWN = 80
_NAMED = 10


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


class UnknownParentError(InvalidInputError):
    """A partition names a parent that does not exist, or that a person has deleted; nothing of its page is created.

    :param child: key of the partition that was to be created.
    :param parent: key of the one that it names.
    """

    def __init__(self, child: str, parent: str) -> None:
        remedy = "Create parents before their children, or leave out a parent that there is nothing to wait for"
        super().__init__("parents", parent, f"does not exist, and partition {shown(child)} comes after it", remedy)
        self.args = (child, parent)
        self.child, self.parent = child, parent


class ParentCycleError(InvalidInputError):
    """Partitions that are created together name each other as parents; nothing of their page is created.

    :param circle: the keys, each a parent of the one before it; the last one's parent is the first.
    """

    def __init__(self, circle: tuple[str, ...]) -> None:
        way = " → ".join(map(shown, (*circle[:_NAMED], *(("…",) if len(circle) > _NAMED else ()), circle[0])))
        problem = f"goes in a circle, so that none of them could ever start: {way}"
        super().__init__("parents", circle[0], problem, "Leave out the one that is no parent")
        self.args = (circle,)
        self.circle = circle
