"""The area ``timeline``: what shows of what was added and removed, step by step."""

from __future__ import annotations

from typing import Any

from airflow_coordination.planning.intervals import Interval, parse_interval
from airflow_coordination.planning.timeline import Piece, Timeline, timeline
from airflow_coordination.testing.cases.druid.lines import Checks, inner_list, interval
from airflow_coordination.testing.cases.reading import Fields, refuse
from airflow_coordination.values.input_errors import InvalidInputError

_Entry = tuple[Interval, str, dict[str, Any]]


def timeline_line(line: Fields, checks: Checks) -> None:
    """Add and remove, then compare what shows; with ``steps`` one after the other."""
    pieces: list[_Entry] = []
    for step in inner_list(line, "steps") if line.has("steps") else [line]:
        _step(step, pieces, checks)
        step.done()


def _step(step: Fields, pieces: list[_Entry], checks: Checks) -> None:
    for name in ("add", "add_partitions"):
        pieces += _entries(step, name)
    for entry in _entries(step, "remove"):
        if entry not in pieces:
            refuse(step.at("remove"), step.items("remove"), "names what was not added", "Write it as in 'add'.")
        pieces.remove(entry)
    try:
        shown = timeline([Piece(where, version, **part) for where, version, part in pieces])
    except InvalidInputError:
        if not step.has("error"):
            raise
        checks.check(step.at("error"), step.truth("error"), True)
        return
    if step.has("error"):
        checks.check(step.at("error"), step.truth("error"), False)
    _compare(step, shown, checks)


def _compare(step: Fields, shown: Timeline, checks: Checks) -> None:
    if step.has("lookup"):
        visible = [_told(one.interval, one.version, one.pieces) for one in shown.within(interval(step, "lookup"))]
        checks.check(step.at("visible"), _expected(step, "visible"), visible)
    if step.has("fully_overshadowed"):
        groups: dict[tuple[Interval, Any], list[Piece]] = {}
        for piece in shown.overshadowed:
            groups.setdefault((piece.interval, piece.version), []).append(piece)
        hidden = sorted(_told(*key, tuple(found)) for key, found in groups.items())
        checks.check(step.at("fully_overshadowed"), sorted(_expected(step, "fully_overshadowed")), hidden)


def _told(where: Interval, version: object, pieces: tuple[Piece, ...]) -> str:
    return _said(where, version, [piece.name for piece in sorted(pieces, key=lambda piece: piece.part)])


def _said(where: Interval, version: object, objects: list[Any]) -> str:
    return f"{where} {version} {' '.join(map(str, objects))}"


def _expected(step: Fields, name: str) -> list[str]:
    found = []
    for where, version, objects in _triples(step, name):
        found.append(_said(where, version, objects if isinstance(objects, list) else [objects]))
    return found


def _triples(step: Fields, name: str) -> list[tuple[Interval, str, Any]]:
    found = []
    for number, value in enumerate(step.items(name, ())):
        where = f"{step.at(name)}[{number}]"
        if not isinstance(value, list) or len(value) != 3 or not isinstance(value[1], str) or not value[1]:
            refuse(where, value, "is no entry", 'Write ["start/end", "version", object].')
        found.append((parse_interval(where, value[0]), value[1], value[2]))
    return found


def _entries(step: Fields, name: str) -> list[_Entry]:
    found: list[_Entry] = []
    for number, (where, version, given) in enumerate(_triples(step, name)):
        at = f"{step.at(name)}[{number}]"
        if isinstance(given, dict):
            fields = Fields(at, given)
            part = {"part": fields.whole("num"), "parts": fields.whole("of"), "name": fields.raw("obj", "a name")}
            fields.done()
        else:
            part = {"name": given}
        if not isinstance(part["name"], int | str):
            refuse(at, part["name"], "is no name of an object", "Write a number or a text.")
        found.append((where, version, part))
    return found
