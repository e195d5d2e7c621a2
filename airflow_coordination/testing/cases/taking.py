"""The section ``taker_cases``: what one worker takes, look by look, in virtual time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from airflow_coordination.planning.shares import Free, wish
from airflow_coordination.testing.cases.reading import Fields, refuse, whole
from airflow_coordination.testing.cases.results import Result, compared, each

_AT_ONE_TIME: Final = 1  # the KCL's default, which its cases do not say
_VERY_OLD: Final = 3
_STEPS: Final = ("scan", "renew_all", "pass_ms")


def taker_cases(file: Fields) -> Iterator[Result]:
    """Yield what became of each case.

    A lease without an owner is very old from the beginning, as in the KCL. ``renew_all``: the owners are alive, and
    renew until the next look. What is asked for is handed over at once.

    :raises InvalidInputError: when the section is malformed.
    """
    section = file.inner("taker_cases")
    duration = section.whole("lease_duration_ms")
    yield from each("taker_cases", section.cases("cases"), lambda case: _taker_case(case, duration))
    section.done()


def _taker_case(case: Fields, duration: int) -> Result:
    fleet = _fleet(case, duration)
    expected, answer = list[Any](), list[Any]()
    for number, value in enumerate(case.items("steps")):
        step = Fields(f"{case.at('steps')}[{number}]", value)
        if wanted := _step(fleet, step):
            look = fleet.look()
            expected.append(wanted)
            answer.append({name: look[name] for name in wanted})
        step.done()
    case.done()
    return compared("taker_cases", case.text("id"), expected, answer)


@dataclass
class _Fleet:
    """The leases, as one worker sees them."""

    me: str
    duration: int
    very_old: float
    capacity: int
    at_one_time: int
    owners: dict[str, str | None]
    now: int = 0
    looks: int = 0
    renewing: bool = False
    renewed: dict[str, int] = field(default_factory=dict)

    def go_on(self, milliseconds: int) -> None:
        self.now += milliseconds
        if self.renewing:
            self.renewed = dict.fromkeys(self.owners, self.now)

    def look(self) -> dict[str, Any]:
        """Take what our rule takes, and return it."""
        free = [lease for lease in sorted(self.owners) if self._quiet(lease) > self.duration]
        very_old = sum(self._quiet(lease) > self.very_old * self.duration for lease in free)
        held = {owner: 0 for owner in self.owners.values() if owner} | {self.me: 0}
        for lease, owner in self.owners.items():
            if owner and lease not in free:
                held[owner] += 1
        held = {owner: number for owner, number in held.items() if number or owner == self.me}
        self.looks, self.renewing = self.looks + 1 if free else 0, False
        seen = Free(len(free), very_old, self.looks)
        capacity = {name: max(self.capacity, number) for name, number in held.items()} | {self.me: self.capacity}
        told = wish(self.me, held, capacity, seen, max_leases_to_steal_at_one_time=self.at_one_time)
        taken = free[: told.take]
        for other, number in told.ask.items():
            taken += [lease for lease in sorted(self.owners) if self.owners[lease] == other][:number]
        for lease in taken:
            self.owners[lease], self.renewed[lease] = self.me, self.now
        return {"take": sorted(taken), "take_count": len(taken), "from": " and ".join(told.ask)}

    def _quiet(self, lease: str) -> float:
        return self.now - self.renewed.get(lease, 0) if self.owners[lease] else float("inf")


def _fleet(case: Fields, duration: int) -> _Fleet:
    owners = dict(case.mapping("leases"))
    for lease, owner in owners.items():
        if owner is not None and not (isinstance(owner, str) and owner):
            refuse(f"{case.at('leases')}.{lease}", owner, "is no owner", "Write its name, or null when nobody owns it.")
    huge = case.raw("very_old_multiplier", "a whole number or 'huge'", _VERY_OLD)
    very_old = float("inf") if huge == "huge" else whole(case.at("very_old_multiplier"), huge)
    capacity = case.whole("max_leases_for_worker", len(owners))
    at_one_time = case.whole("max_leases_to_steal_at_one_time", _AT_ONE_TIME)
    return _Fleet(case.text("me"), duration, very_old, capacity, at_one_time, owners)


def _step(fleet: _Fleet, step: Fields) -> dict[str, Any] | None:
    """Do one step; return what is expected of a look."""
    if [name in _STEPS for name in step.names()] != [True]:
        refuse(step.where, step.names(), "is no step", f"Give one of {', '.join(_STEPS)}.")
    if step.has("pass_ms"):
        fleet.go_on(_milliseconds(step, fleet.duration))
    elif step.has("renew_all"):
        fleet.renewing = step.truth("renew_all")
        fleet.go_on(0)
    else:
        return _expected(step.inner("scan"))
    return None


def _milliseconds(step: Fields, duration: int) -> int:
    value = step.raw("pass_ms", "milliseconds")
    if isinstance(value, str) and value.startswith("duration"):
        head, sign, rest = value.partition("+")
        return duration * (head == "duration") + (whole(step.at("pass_ms"), rest) if sign else 0)
    return whole(step.at("pass_ms"), value)


def _expected(scan: Fields) -> dict[str, Any]:
    expected: dict[str, Any] = {}
    if scan.has("take"):
        expected["take"] = sorted(scan.texts("take"))
    if scan.has("take_count"):
        expected["take_count"] = scan.whole("take_count")
    if scan.has("from"):
        expected["from"] = scan.text("from")
    scan.done()
    if not expected:
        refuse(scan.where, {}, "expects nothing", "Give take, a list of leases, or take_count.")
    return expected
