"""Reads case files strictly: whatever is malformed is refused by field, value and remedy."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Final, NoReturn

from airflow_coordination.values import documents
from airflow_coordination.values.input_errors import InvalidInputError

MAX_BYTES: Final = 64 * 1024 * 1024
_MAX_DEPTH: Final = 32
_REMARKS: Final = frozenset(
    {"about", "comment", "core", "description", "how_to_use", "kcl_test", "note", "source", "why"}
)
_MOST: Final = 10**60
_REQUIRED: Final = object()


def load(path: str | Path) -> Fields:
    """Return the content of a file.

    :raises InvalidInputError: when it cannot be read, or is no JSON object.
    """
    try:
        content = Path(path).read_bytes()
        value = documents.parse(content, max_bytes=MAX_BYTES, max_depth=_MAX_DEPTH)
    except OSError as error:
        refuse("FILE", str(path), f"cannot be read: {error.strerror}", "Name a case file.")
    except ValueError as error:
        refuse("FILE", str(path), f"is no JSON: {error}", "Correct the file; each name stands once in an object.")
    return Fields("", value)


def refuse(field: str, value: object, problem: str, remedy: str) -> NoReturn:
    """Raise an error that names the field.

    :raises InvalidInputError: always.
    """
    raise InvalidInputError(field, value, problem, remedy) from None


class Fields:
    """The fields of a JSON object; each is taken by its type, and :meth:`done` refuses those that nobody took.

    :param where: the way to it, for messages.
    :param value: the value that should be an object.
    :raises InvalidInputError: when it is not.
    """

    def __init__(self, where: str, value: object) -> None:
        if not isinstance(value, dict):
            refuse(where or "FILE", value, "is no object", "Write {…} with names and values.")
        self.where, self._values = where, value
        self._known, self._remarks = set[str](), set(_REMARKS)

    def at(self, name: str) -> str:
        """Return the way to a field."""
        return f"{self.where}.{name}" if self.where else name

    def has(self, name: str) -> bool:
        """Tell whether a field is there and not null."""
        self._known.add(name)
        return self._values.get(name) is not None

    def names(self) -> list[str]:
        """Return the names of all fields."""
        return list(self._values)

    def pass_over(self, *names: str) -> None:
        """Take fields that are remarks here."""
        self._remarks.update(names)

    def done(self) -> None:
        """Refuse fields that nobody took, because a misspelt one would be passed over.

        :raises InvalidInputError: when there are any.
        """
        for name in self._values:
            if name not in self._known | self._remarks:
                known = ", ".join(sorted(self._known))
                refuse(self.at(name), self._values[name], "is unknown here", f"Use {known}; remarks go into 'note'.")

    def raw(self, name: str, wanted: str, default: Any = _REQUIRED) -> Any:
        """Return a field, or the default if it is missing or null.

        :raises InvalidInputError: when it is missing and has no default.
        """
        self._known.add(name)
        value = self._values.get(name)
        if value is not None:
            return value
        if default is _REQUIRED:
            refuse(self.at(name), None, "is missing", f"Give it as {wanted}.")
        return default

    def text(self, name: str, default: Any = _REQUIRED, among: Collection[str] = ()) -> str:
        """Return a text, which is not empty, and one of ``among``.

        :raises InvalidInputError: when it is not.
        """
        value = self.raw(name, " or ".join(among) or "a text", default)
        if value is not default and not (isinstance(value, str) and value):
            refuse(self.at(name), value, "is no text", "Write it in quotes; it may not be empty.")
        if value is not default and among and value not in among:
            refuse(self.at(name), value, "is unknown", f"Use {' or '.join(among)}.")
        return str(value) if value is not None else ""

    def whole(self, name: str, default: Any = _REQUIRED, most: int = _MOST) -> Any:
        """Return a whole number from 0 to ``most``.

        :raises InvalidInputError: when it is none.
        """
        value = self.raw(name, "a whole number from 0 on", default)
        if value is not default and whole(self.at(name), value) > most:
            refuse(self.at(name), value, f"is more than {most}", "Give a smaller number.")
        return value if value is default else whole(self.at(name), value)

    def number(self, name: str, default: Any = _REQUIRED) -> Any:
        """Return a number, with or without a fraction.

        :raises InvalidInputError: when it is none.
        """
        value = self.raw(name, "a number", default)
        if value is not default and (not isinstance(value, int | float) or isinstance(value, bool)):
            refuse(self.at(name), value, "is no number", "Write digits, without quotes.")
        return value

    def truth(self, name: str, default: Any = _REQUIRED) -> bool:
        """Return true or false.

        :raises InvalidInputError: when it is neither.
        """
        value = self.raw(name, "true or false", default)
        if not isinstance(value, bool):
            refuse(self.at(name), value, "is neither true nor false", "Write true or false, without quotes.")
        return value

    def items(self, name: str, default: Any = _REQUIRED) -> list[Any]:
        """Return a list.

        :raises InvalidInputError: when it is none.
        """
        value = self.raw(name, "a list", default)
        if not isinstance(value, list | tuple):
            refuse(self.at(name), value, "is no list", "Write […].")
        return list(value)

    def texts(self, name: str, default: Any = _REQUIRED) -> list[str]:
        """Return a list of texts, each there once.

        :raises InvalidInputError: when it is none.
        """
        value = self.items(name, default)
        for each in value:
            if not isinstance(each, str) or not each:
                refuse(self.at(name), value, f"has {each!a}, which is no text", "Write each in quotes.")
            if value.count(each) > 1:
                refuse(self.at(name), value, f"has {each!a} twice", "Name each once.")
        return value

    def mapping(self, name: str, default: Any = _REQUIRED) -> Mapping[str, Any]:
        """Return an object as it is.

        :raises InvalidInputError: when it is none.
        """
        value = self.raw(name, "an object", default)
        if not isinstance(value, dict):
            refuse(self.at(name), value, "is no object", "Write {…} with names and values.")
        return value

    def inner(self, name: str) -> Fields:
        """Return the fields of an inner object.

        :raises InvalidInputError: when it is none.
        """
        return Fields(self.at(name), self.mapping(name))

    def cases(self, name: str) -> list[Fields]:
        """Return the cases of a list, each with its id in its place.

        :raises InvalidInputError: when it is no list of objects with ids, or an id is there twice.
        """
        found: dict[str, Fields] = {}
        for number, value in enumerate(self.items(name)):
            case = Fields(f"{self.at(name)}[{number}]", value)
            key = case.text("id")
            if key in found:
                refuse(case.at("id"), key, "is there twice", "Give each case of a section an id of its own.")
            case.where = f"{self.at(name)}[{key}]"
            found[key] = case
        return list(found.values())


def whole(field: str, value: object) -> int:
    """Return a whole number from 0 on, which may stand in quotes: JSON has no large ones.

    :raises InvalidInputError: when it is none.
    """
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 60:
        return int(value)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < _MOST:
        refuse(field, value, "is no whole number from 0 on", "Write digits only.")
    return value
