"""What a case of Druid's form holds: lines of what is given and expected, and the checks of what came out.

``rows`` stand in ``given``, in ``expect`` or in both, then one beside the other; what stands beside them is meant for
each row that does not say otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from airflow_coordination.planning.intervals import Interval, parse_interval
from airflow_coordination.testing.cases.reading import Fields, refuse
from airflow_coordination.testing.cases.results import Result, Verdict, written

_REMARKS: Final = ("basis", "test", "also", "formula", "see")
_SHOWN: Final = 3


class Checks:
    """What was compared in a case."""

    def __init__(self) -> None:
        self.number = 0
        self._different: list[tuple[str, object, object]] = []

    def check(self, what: str, expected: object, answer: object) -> None:
        """Compare one thing.

        :param what: the way to it in the file.
        """
        self.number += 1
        if expected != answer:
            self._different.append((what, expected, answer))

    def result(self, section: str, case: Fields) -> Result:
        """Return what became of the case.

        :raises InvalidInputError: when nothing was compared.
        """
        if not self.number:
            known = "Give a key of 'expect' that this area compares"
            refuse(case.where, case.names(), "expects nothing that is compared", f"{known}; remarks prove nothing.")
        said = f"{self.number} checks"
        if not self._different:
            return Result(section, case.text("id"), Verdict.AS_EXPECTED, said, said)
        seen = self._different[:_SHOWN]
        expected = "; ".join(f"{what.partition('].')[2]}: {written(wanted)}" for what, wanted, _ in seen)
        answer = "; ".join(written(given) for *_, given in seen)
        more = f" (and {len(self._different) - _SHOWN} more)" if len(self._different) > _SHOWN else ""
        return Result(section, case.text("id"), Verdict.DIFFERENT, expected, answer + more)


def lines(case: Fields, before: Mapping[str, Any] = MappingProxyType({})) -> list[Fields]:
    """Return the rows of a case, or the case itself as the only one.

    A name in both ``given`` and ``expect`` is ``expect.name`` where it is expected.

    :param before: what is given besides, unless the case says otherwise.

    :raises InvalidInputError: when rows are no list of objects, or two lists of rows are not equally long.
    """
    given, expect = {**before, **case.mapping("given")}, dict(case.mapping("expect"))
    of_given, of_expect = _rows(case, "given", given), _rows(case, "expect", expect)
    shared = _merged(given, expect)
    if of_given is None and of_expect is None:
        return [_line(case.where, shared)]
    if of_given is not None and of_expect is not None and len(of_given) != len(of_expect):
        problem = f"has {len(of_given)} rows in given and {len(of_expect)} in expect"
        refuse(case.where, case.names(), problem, "Give each row what is expected of it.")
    count = len(of_given if of_given is not None else of_expect or [])
    pairs = zip(of_given or [{}] * count, of_expect or [{}] * count, strict=True)
    return [_line(f"{case.where}.rows[{number}]", shared | _merged(*pair)) for number, pair in enumerate(pairs)]


def _rows(case: Fields, name: str, values: dict[str, Any]) -> list[dict[str, Any]] | None:
    rows = values.pop("rows", None)
    if rows is None:
        return None
    where = f"{case.at(name)}.rows"
    if not isinstance(rows, list) or not rows:
        refuse(where, rows, "is no list of rows", "Write [{…}, …] with at least one.")
    for number, row in enumerate(rows):
        Fields(f"{where}[{number}]", row)
    return rows


def _merged(given: dict[str, Any], expect: dict[str, Any]) -> dict[str, Any]:
    both = given.keys() & expect.keys()
    return given | {f"expect.{name}" if name in both else name: value for name, value in expect.items()}


def _line(where: str, values: dict[str, Any]) -> Fields:
    line = Fields(where, values)
    remarks = (*_REMARKS, "note", "why")
    line.pass_over(*remarks, *(f"expect.{name}" for name in remarks))
    return line


def inner_list(line: Fields, name: str) -> list[Fields]:
    """Return a list of objects.

    :raises InvalidInputError: when it is none.
    """
    return [_line(f"{line.at(name)}[{number}]", value) for number, value in enumerate(line.items(name))]


def interval(line: Fields, name: str) -> Interval:
    """Return an interval, which may be empty.

    :raises InvalidInputError: when it is none.
    """
    return parse_interval(line.at(name), line.raw(name, "an interval"), empty=True)


def intervals(line: Fields, name: str) -> list[Interval]:
    """Return a list of intervals.

    :raises InvalidInputError: when it is none.
    """
    values = line.items(name)
    return [parse_interval(f"{line.at(name)}[{number}]", each) for number, each in enumerate(values)]


def told(intervals: list[Interval]) -> list[str]:
    """Return intervals as they are compared and shown."""
    return [str(one) for one in intervals]
