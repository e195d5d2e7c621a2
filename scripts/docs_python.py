"""The Python reference: every public name of a room, from its signature and docstring."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from enum import Enum
from importlib import import_module
from types import FunctionType
from typing import Any, Final

_PACKAGE: Final = "airflow_coordination"
_FIELD: Final = re.compile(r"^:(param|return|raises)\s?([^:]*):\s", re.MULTILINE)
_ITEM: Final = re.compile(r"(\*|\d+\.) ")
_ROLE: Final = re.compile(r":\w+:`~?(?:[\w.]+ <)?([\w.]+)>?`")
_LISTED: Final = {"param": "* `{}`: {}\n", "return": "* returns{} {}\n", "raises": "* raises `{}`: {}\n"}
_WIDTH: Final = 100


def reference(room: str) -> Callable[[], str]:
    """Return a writer of the names of a room, errors only by name: they have a page of their own."""

    def write() -> str:
        module = import_module(f"{_PACKAGE}.{room}")
        public = {name: getattr(module, name) for name in sorted(module.__all__)}
        errors = [name for name, value in public.items() if inspect.isclass(value) and issubclass(value, Exception)]
        sections = [_section(name, value) for name, value in public.items() if name not in errors]
        if errors:
            sections.append(
                f"And the [errors](../../docs/reference/errors.md) {', '.join(f'`{name}`' for name in errors)}.\n"
            )
        return re.sub(r"\n{3,}", "\n\n", "\n".join(sections)).rstrip("\n") + "\n"

    return write


def _section(name: str, value: Any) -> str:
    text = f"### `{name}`\n\n"
    if not inspect.isclass(value) and not isinstance(value, FunctionType):
        return f"{text}A name for `{_alias(value)}`.\n"
    if inspect.isclass(value) and issubclass(value, Enum):
        return text + _described(value) + "".join(f"* `{one.name}` = `{one.value!r}`\n" for one in value)
    if not (getattr(value, "_is_protocol", False) or _is_part(value)):
        text += f"```text\n{_signature(name, value)}\n```\n\n"
    return text + _described(value) + (_members(value) if inspect.isclass(value) else "")


def _is_part(value: Any) -> bool:
    """Whether only its holder makes it: what it is given has names that begin with an underscore."""
    return is_dataclass(value) and any(field.name.startswith("_") for field in fields(value))


def _alias(value: Any) -> str:
    """Return a type without the modules of its parts."""
    return re.sub(r"\w+\.(?=\w)", "", str(value))


def _members(owner: type) -> str:
    """Return the public methods and properties that the package itself gives a class, by name."""
    found = [(name, vars(base)[name]) for base in _bases(owner) for name in vars(base) if not name.startswith("_")]
    members = sorted(dict(reversed(found)).items(), key=lambda one: (not isinstance(one[1], property), one[0]))
    return "".join(_member(name, value) for name, value in members)


def _bases(owner: type) -> list[type]:
    return [base for base in owner.__mro__ if base.__module__.startswith(_PACKAGE)]


def _member(name: str, value: Any) -> str:
    if isinstance(value, property):
        return f"* `.{name}`: {_prose(inspect.getdoc(value) or '')}\n"
    plain = value.__func__ if isinstance(value, classmethod | staticmethod) else value
    if not isinstance(plain, FunctionType):
        return ""
    return f"\n#### `.{name}`\n\n```text\n{_signature(name, plain)}\n```\n\n{_described(plain)}"


class _Written:
    """Stands for a value in a signature, as it is to be written there."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def _signature(name: str, value: Any) -> str:
    """Return name, parameters and result, one parameter a line where they are long."""
    signature = inspect.signature(value)
    parameters = [_parameter(one) for one in signature.parameters.values() if one.name not in ("self", "cls")]
    returned = signature.return_annotation
    result = "" if inspect.isclass(value) or returned is signature.empty else f" -> {returned}"
    short = f"{name}{inspect.Signature(parameters)}{result}"
    if len(short) <= _WIDTH:
        return short
    return f"{name}(\n" + "".join(f"    {line},\n" for line in _pieces(parameters)) + f"){result}"


def _parameter(given: inspect.Parameter) -> inspect.Parameter:
    if given.annotation is not given.empty:
        given = given.replace(annotation=_Written(str(given.annotation)))
    if callable(given.default) and given.default is not given.empty:
        given = given.replace(default=_Written("…"))
    return given


def _pieces(parameters: list[inspect.Parameter]) -> Iterator[str]:
    keyword_only = False
    for one in parameters:
        if one.kind is one.VAR_POSITIONAL:
            keyword_only = True
        elif one.kind is one.KEYWORD_ONLY and not keyword_only:
            keyword_only = True
            yield "*"
        yield str(one)


def _described(value: Any) -> str:
    """Return a docstring as Markdown: its text, then parameters, result and errors as a list."""
    text = inspect.getdoc(value)
    if not text:
        raise LookupError(f"{value!r} has no docstring")
    first = _FIELD.search(text)
    body, rest = (text[: first.start()], text[first.start() :]) if first else (text, "")
    paragraphs = "".join(f"{_prose(part)}\n\n" for part in body.strip().split("\n\n") if part.strip())
    listed = "".join(_fields(rest))
    return f"{paragraphs}{listed}\n" if listed else paragraphs


def _fields(text: str) -> Iterator[str]:
    found = list(_FIELD.finditer(text))
    for place, match in enumerate(found):
        end = found[place + 1].start() if place + 1 < len(found) else len(text)
        said = _prose(text[match.end() : end]).rstrip(".")
        yield _LISTED[match[1]].format(match[2].strip(), said)


def _prose(text: str) -> str:
    """Return reStructuredText of a docstring as Markdown, on one line unless it is a list."""
    plain = re.sub(r"``(.+?)``", r"`\1`", _ROLE.sub(lambda role: f"`{role[1].rpartition('.')[2]}`", text))
    lines = [line.strip() for line in plain.strip().splitlines()]
    return "".join(f"\n{line}" if _ITEM.match(line) else f" {line}" for line in lines)[1:]
