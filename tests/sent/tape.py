"""What was sent under which heading, as text that people compare."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from boto3.dynamodb.types import TypeDeserializer

from airflow_coordination.testing.clock import START
from airflow_coordination.values.times import to_micros

_DESERIALIZER = TypeDeserializer()
_PLACEHOLDER = re.compile(r"[#:][a-z]\d+")
_CLAUSES = re.compile(r"(?<=,) (?=[a-z])| (?=ADD |REMOVE )| (?=AND |OR )")
_ID = re.compile(r"0{20}(\d{4})")
_TIME = re.compile(rf"{to_micros(START) // 10**10}\d{{10}}")
_BREAKS = re.compile(
    r" (?=(?:WITH|SELECT|FROM|WHERE|SET|VALUES|RETURNING|UNION ALL|ORDER BY|LEFT JOIN|CROSS JOIN|ON CONFLICT)\b)"
)


class Tape:
    """What one engine was sent; a text that was sent before is named by the heading under which it was."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._first: dict[str, str] = {}
        self._heading = ""

    def heading(self, name: str) -> None:
        """Begin a step, or end one."""
        self._heading = name
        if name:
            self.lines += ["", f"## {name}"]

    def note(self, text: str) -> None:
        """Write down one thing that was sent."""
        if not self._heading:
            return
        text = _TIME.sub(_since_start, _ID.sub(r"op\1", text))
        known = self._first.setdefault(text, self._heading)
        self.lines.append(text if known == self._heading else f"(as under: {known})")

    def sections(self) -> dict[str, str]:
        """Return what was sent under each heading; nothing of what is only named there."""
        parts = "\n".join(self.lines).split("\n## ")
        return {name.removeprefix("## "): text for name, _, text in (part.partition("\n") for part in parts)}

    def text(self) -> str:
        """Return all of it."""
        return "\n".join(self.lines).lstrip() + "\n"


def _since_start(found: re.Match[str]) -> str:
    return f"T+{(int(found[0]) - to_micros(START)) // 1_000_000}s"


def in_lines(statement: str) -> str:
    """Return a statement in lines that a difference can be seen in."""
    return _BREAKS.sub("\n  ", " ".join(statement.split()))


@contextmanager
def heard_by_psycopg(tape: Tape) -> Iterator[None]:
    """Write down all that PostgreSQL's driver executes, without its values."""
    execute = psycopg.RawCursor.execute

    def noted(cursor: Any, query: Any, *arguments: Any, **options: Any) -> Any:
        tape.note(in_lines(str(query)))
        return execute(cursor, query, *arguments, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(psycopg.RawCursor, "execute", noted)
        yield


@contextmanager
def heard_by_botocore(client: Any, tape: Tape) -> Iterator[None]:
    """Write down all requests of a DynamoDB client."""
    where = "provide-client-params.dynamodb.*"

    def noted(params: Mapping[str, Any], model: Any, **_: Any) -> None:
        tape.note(as_request(model.name, params))

    client.meta.events.register(where, noted)
    try:
        yield
    finally:
        client.meta.events.unregister(where, noted)


def as_request(operation: str, arguments: Mapping[str, Any]) -> str:
    """Return a request to DynamoDB in lines that a difference can be seen in, its placeholders filled."""
    return "\n".join([operation, *_indented(arguments)])


def _indented(arguments: Mapping[str, Any]) -> Iterator[str]:
    """Yield the arguments; a transaction's writes are indented below it."""
    given = dict(arguments)
    fills = given.pop("ExpressionAttributeNames", {}) | {
        name: json.dumps(_DESERIALIZER.deserialize(value), default=str)
        for name, value in given.pop("ExpressionAttributeValues", {}).items()
    }
    given.pop("TableName", None)
    for write in given.pop("TransactItems", ()):
        [(kind, item)] = write.items()
        yield f"  {kind}"
        yield from (f"  {line}" for line in _indented(item))
    for name, value in sorted(given.items()):
        filled = _PLACEHOLDER.sub(lambda found: fills[found[0]], _text(value))
        yield f"  {name}: " + _CLAUSES.sub("\n    ", filled)


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, sort_keys=True)
