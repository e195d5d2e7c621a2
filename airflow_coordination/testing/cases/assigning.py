"""The section ``assignment_cases``: how leases spread over workers once nobody wants anything any more."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final

from airflow_coordination.planning.shares import Free, wish
from airflow_coordination.testing.cases.reading import Fields, refuse, whole
from airflow_coordination.testing.cases.results import Result, Verdict, compared, each

_HANDING_OFF: Final = re.compile(r"(?P<lease>[^()]+)\(handing off to (?P<to>[^()]+)\)")
_ROUNDS: Final = 10_000
_MOST_FREE: Final = 10_000


def assignment_cases(file: Fields) -> Iterator[Result]:
    """Yield what became of each case; those of utilisation are different by design, even where the answers agree."""
    return each("assignment_cases", file.cases("assignment_cases"), _assignment_case)


def _assignment_case(case: Fields) -> Result:
    by_load = case.text("strategy", among=("count", "utilisation")) == "utilisation"
    workers = _workers(case)
    workers.settle()
    expected, answer = _compared(case.inner("expect"), workers)
    case.done()
    result = compared("assignment_cases", case.text("id"), expected, answer, "leases, not CPU" if by_load else "")
    return replace(result, verdict=Verdict.BY_DESIGN) if by_load else result


@dataclass
class _Workers:
    """Who holds what, and which leases are on their way."""

    capacity: dict[str, int]
    owners: dict[str, str]
    free: list[str]
    load: dict[str, int] = field(default_factory=dict)
    coming: dict[str, str] = field(default_factory=dict)
    moved: dict[str, str] = field(default_factory=dict)
    assigned: dict[str, str] = field(default_factory=dict)

    def held(self) -> dict[str, int]:
        return {name: list(self.owners.values()).count(name) for name in self.capacity}

    def settle(self) -> None:
        """Let one after the other look, take, ask and be handed over what it asked for, until nobody moves."""
        for _ in range(_ROUNDS):
            if not sum(self._turn(name) for name in sorted(self.capacity)):
                return

    def _turn(self, me: str) -> bool:
        asked = list(self.coming.values()).count(me)
        told = wish(me, self.held(), self.capacity, Free(len(self.free)), asked=asked)
        for lease in self.free[: told.take]:
            self.owners[lease] = self.assigned[lease] = me
        del self.free[: told.take]
        for other, number in told.ask.items():
            theirs = [lease for lease, owner in self.owners.items() if owner == other and lease not in self.coming]
            for lease in sorted(theirs)[:number]:
                self.owners[lease] = self.moved[lease] = me
        return bool(told.take or told.ask)


def _workers(case: Fields) -> _Workers:
    names = {name: _leases(case, name) for name in case.mapping("workers")}
    for unused in ("cpu", "limit", "rebalance_pct", "dampening_pct", "overshoot"):
        case.raw(unused, "a number", None)
    free = [f"free {number}" for number in range(1, case.whole("free", 0, most=_MOST_FREE) + 1)]
    for name in case.mapping("dead", {}):
        free += [lease for lease, _, _ in _leases(case, name, "dead")]
    total = len(free) + sum(map(len, names.values()))
    capacity = dict.fromkeys(names, case.whole("max_per_worker", total))
    if not names:
        refuse(case.at("workers"), {}, "is empty", "Name at least one worker that is alive.")
    workers = _Workers(capacity, {}, free)
    for name, leases in names.items():
        for lease, load, to in leases:
            if lease in workers.owners:
                refuse(f"{case.at('workers')}.{name}", lease, "is held twice", "Give each lease one owner.")
            workers.owners[lease], workers.load[lease] = name, load
            if to:
                workers.coming[lease] = to
    return workers


def _leases(case: Fields, worker: str, group: str = "workers") -> list[tuple[str, int, str]]:
    """Return what a worker holds: name, load, and who gets it next."""
    field, values = f"{case.at(group)}.{worker}", case.mapping(group)[worker]
    if not isinstance(values, list):
        refuse(field, values, "is no list", "Write […] with the names of its leases.")
    return [_lease(field, value) for value in values]


def _lease(field: str, value: Any) -> tuple[str, int, str]:
    if isinstance(value, list) and len(value) == 2 and isinstance(value[0], str) and value[0]:
        return value[0], whole(field, value[1]), ""
    if not isinstance(value, str) or not value:
        refuse(field, value, "is no lease", "Write its name, 'name(handing off to worker)', or [name, load].")
    on_its_way = _HANDING_OFF.fullmatch(value)
    return (on_its_way["lease"].strip(), 0, on_its_way["to"]) if on_its_way else (value, 0, "")


def _compared(expect: Fields, workers: _Workers) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what is expected and what was found, under the same names."""
    wanted = {name: _wanted(expect, name) for name in _FOUND if expect.has(name)}
    expect.done()
    if not wanted:
        refuse(expect.where, {}, "expects nothing", f"Give some of {', '.join(sorted(_FOUND))}.")
    return wanted, {name: _FOUND[name](workers, value) for name, value in wanted.items()}


def _wanted(expect: Fields, name: str) -> Any:
    if name in ("to", "new_to"):
        return expect.text(name)
    if name in ("never_moved", "may_move"):
        return expect.texts(name)
    if name == "moved" and isinstance(expect.raw(name, "a number, or a list of leases"), list):
        return sorted(expect.texts(name))
    return expect.whole(name)


def _names(found: dict[str, str]) -> str | None:
    return " and ".join(sorted(set(found.values()))) or None


def _moved(workers: _Workers, wanted: Any) -> Any:
    return sorted(workers.moved) if isinstance(wanted, list) else len(workers.moved)


def _allowed(workers: _Workers, wanted: Any) -> Any:
    return wanted if workers.moved.keys() <= set(wanted) else sorted(workers.moved)


def _enough(workers: _Workers, wanted: Any) -> Any:
    found = sum(workers.load[lease] for lease in workers.moved)
    return wanted if found >= wanted else found


_FOUND: Final[dict[str, Callable[[_Workers, Any], Any]]] = {
    "assigned": lambda workers, _: len(workers.assigned),
    "max_minus_min": lambda workers, _: max(workers.held().values()) - min(workers.held().values()),
    "moved": _moved,
    "to": lambda workers, _: _names(workers.moved),
    "never_moved": lambda workers, wanted: [lease for lease in wanted if lease not in workers.moved],
    "may_move": _allowed,
    "to_dead": lambda workers, _: sum(name not in workers.capacity for name in workers.assigned.values()),
    "new_to": lambda workers, _: _names(workers.assigned),
    "moved_kbps_at_least": _enough,
}
