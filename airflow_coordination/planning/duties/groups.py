"""Groups of duties from Druid's properties: the built-in ones, and those that the properties make.

Source: Druid's ``druid.coordinator.*``. Its own file is read as it is: what has no meaning here is a warning, so that
it need not be changed, and a key that nobody knows is an error with the nearest one, so that a typing error does not
leave a setting at its default.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any, Final

from airflow_coordination.planning.duties.keys import (
    BUILT_IN,
    DUTIES,
    KNOWN,
    PREFIX,
    SWITCHES,
    meaningless,
    reserved,
)
from airflow_coordination.planning.periods import parse_duration, parse_period, written
from airflow_coordination.planning.unused.deleting import Margins
from airflow_coordination.values.documents import parse
from airflow_coordination.values.input_errors import SettingsError, printable

_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,99}", re.ASCII)
_OF_A_GROUP: Final = re.compile(r"(?P<group>[^.]+)\.(?:duties|period|duty(?:\..*)?)")
_SHORTEST: Final = timedelta(seconds=1)
_NONE: Final[Mapping[str, Mapping[str, str]]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class DutyGroup:
    """Duties that run one after the other.

    :param name: Druid's, where Druid has it.
    :param period: from one run to the next; above zero.
    :param duties: their names, in the order in which they run.
    :param arguments: of each duty by its name, texts by their keys.
    """

    name: str
    period: timedelta
    duties: tuple[str, ...]
    arguments: Mapping[str, Mapping[str, str]] = field(default_factory=lambda: _NONE)

    def __post_init__(self) -> None:
        of_theirs = ((duty, said) for duty, said in self.arguments.items() if said and duty in self.duties)
        frozen = {duty: MappingProxyType(dict(said)) for duty, said in of_theirs}
        object.__setattr__(self, "arguments", MappingProxyType(frozen))


@dataclass(frozen=True, slots=True)
class Duties:
    """What properties say of duties.

    :param groups: the built-in ones, then those that the properties make; none is empty, and no duty is in two.
    :param start_delay: before the first run of a group that nobody has run.
    :param margins: of what is deleted; ``None`` while ``druid.coordinator.kill.on`` is not true.
    :param notes: lines for a log.
    :param warnings: what does not do what somebody may think.
    """

    groups: tuple[DutyGroup, ...]
    start_delay: timedelta
    margins: Margins | None
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def duties_of(properties: Mapping[str, object], known: Collection[str] = ()) -> Duties:
    """Return the groups of duties that properties say; without any, the built-in ones.

    :param properties: Druid's keys with texts; in Python also numbers, lists, true and false.
    :param known: the names of own duties beside the built-in ones.
    :raises SettingsError: naming the key, its value, and what to write instead.
    :raises InvalidInputError: for a period that is none.
    """
    reader = _Reader({str(key): _text(value) for key, value in properties.items()}, {*DUTIES, *known})
    return reader.read()


class _Reader:
    """Reads properties once.

    :param said: all of them.
    :param duties: the names of all duties there are.
    """

    def __init__(self, said: Mapping[str, str], duties: Collection[str]) -> None:
        self._said = {key.removeprefix(PREFIX): value for key, value in said.items() if key.startswith(PREFIX)}
        self._others = len(said) - len(self._said)
        self._duties = duties
        self._notes: list[str] = []
        self._warnings: list[str] = []

    def read(self) -> Duties:
        names = self._names()
        self._check_keys(names)
        off = {duty for duty, key in SWITCHES.items() if not self._flag(key)}
        custom = self._without_taken([self._group(name, off) for name in names])
        built_in = [self._built_in(name, off) for name in BUILT_IN]
        left, margins = self._without_moved(built_in, custom), self._margins()
        if self._others:
            self._notes.append(f"properties that do not begin with {PREFIX} and are left to Druid: {self._others}")
        return Duties(
            tuple(each for each in (*left, *custom) if each.duties),
            parse_duration(f"{PREFIX}startDelay", self._value("startDelay")),
            None if "killUnused" in off else margins,
            tuple(self._notes),
            tuple(self._warnings),
        )

    def _names(self) -> tuple[str, ...]:
        """Return the names of the groups that the properties make."""
        if "dutyGroups" not in self._said:
            return ()
        names = self._list("dutyGroups")
        for name in names:
            if not _NAME.fullmatch(name):
                problem = f"names {name!r}, which is no name of a group"
                self._refuse("dutyGroups", problem, "Use letters, digits, - and _, a letter first")
            if reserved(name):
                problem = f"names {name!r}, which is a built-in group, or has properties already"
                self._refuse("dutyGroups", problem, "Give the group a name of its own")
        return names

    def _check_keys(self, names: Collection[str]) -> None:
        """Refuse keys that nobody knows, and warn of those that mean nothing here."""
        for key in self._said:
            of_group = _OF_A_GROUP.fullmatch(key)
            if key in KNOWN or (of_group and of_group["group"] in names):
                continue
            unlisted = of_group is not None and (of_group["group"] in BUILT_IN or not reserved(of_group["group"]))
            if (reason := meaningless(key)) and not (unlisted and ".dut" in key):
                self._warnings.append(f"{PREFIX}{printable(key)} does nothing here: {reason}")
            elif of_group and unlisted:
                self._refuse_group(key, of_group["group"], names)
            else:
                candidates = [*KNOWN, *(f"{name}.{what}" for name in names for what in ("duties", "period"))]
                self._refuse(key, "is unknown", self._nearest(key, candidates, PREFIX))

    def _refuse_group(self, key: str, name: str, names: Collection[str]) -> None:
        if name in BUILT_IN:
            its = BUILT_IN[name].period_key
            remedy = f"Set {PREFIX}{its}, or make a group" if its else f"Make a group by {PREFIX}dutyGroups"
            self._refuse(key, f"is of {name}, which is a built-in group", remedy)
        near = get_close_matches(name, names, 1)
        listed = json.dumps([*names, name])
        remedy = f"Did you mean {near[0]}? Else write " if near else "Write "
        problem = f"is of a group that {PREFIX}dutyGroups does not name"
        self._refuse(key, problem, f"{remedy}{PREFIX}dutyGroups={listed}")

    def _group(self, name: str, off: Collection[str]) -> DutyGroup:
        duties, period = f"{name}.duties", f"{name}.period"
        for key, such in ((duties, '["compactSegments"]'), (period, "PT10M")):
            if not self._said.get(key):
                raise SettingsError(f"{PREFIX}{key}", self._said.get(key), "is missing", f"Write {PREFIX}{key}={such}")
        listed = self._list(duties)
        if not listed:
            self._refuse(duties, "names no duty", f'Write {PREFIX}{duties}=["compactSegments"]')
        for duty in listed:
            if duty not in self._duties:
                self._refuse(duties, f"names {duty!r}, which is no duty", self._nearest(duty, sorted(self._duties)))
        for duty in (each for each in listed if each in off):
            self._warnings.append(f"{duty} of group {name} does not run: {PREFIX}{SWITCHES[duty]} is not true")
        runs = tuple(duty for duty in listed if duty not in off)
        given = self._arguments(name, listed)
        arguments = {duty: {**self._defaults(duty), **given.get(duty, {})} for duty in runs}
        return DutyGroup(name, _period(f"{PREFIX}{period}", self._said[period]), runs, arguments)

    def _arguments(self, name: str, duties: Sequence[str]) -> dict[str, dict[str, str]]:
        found: dict[str, dict[str, str]] = {}
        start = f"{name}.duty"
        for key in (each for each in self._said if each == start or each.startswith(f"{start}.")):
            duty, _, argument = key[len(start) + 1 :].partition(".")
            if not duty or not argument:
                such = f"{PREFIX}{start}.{duty or duties[0]}.capacity=8"
                self._refuse(key, "names no argument of a duty", f"Write such as {such}")
            if duty not in duties:
                problem, remedy = f"is of a duty that group {name} does not have", self._nearest(duty, duties)
                self._refuse(key, problem, f"{remedy}, or add it to {PREFIX}{name}.duties")
            found.setdefault(duty, {})[argument] = self._said[key]
        return found

    def _without_taken(self, groups: Iterable[DutyGroup]) -> list[DutyGroup]:
        """Return groups in which no duty is twice: the first that names it has it (Druid)."""
        taken: dict[str, str] = {}
        found = []
        for group in groups:
            for duty in (each for each in group.duties if each in taken):
                said = f"{duty} is named in groups {taken[duty]} and {group.name}: it runs in {taken[duty]} only"
                self._warnings.append(said)
            kept = tuple(each for each in group.duties if each not in taken)
            if not kept:
                self._warnings.append(f"group {group.name} has no duty left, and does not run")
            taken |= dict.fromkeys(kept, group.name)
            found.append(replace(group, duties=kept))
        return [each for each in found if each.duties]

    def _built_in(self, name: str, off: Collection[str]) -> DutyGroup:
        group = BUILT_IN[name]
        text = self._value(group.period_key) if group.period_key else group.period
        if group.note and group.period_key not in self._said:
            self._notes.append(group.note)
        period = _period(f"{PREFIX}{group.period_key}", text)
        duties = tuple(duty for duty in group.duties if duty not in off)
        return DutyGroup(name, period, duties, {duty: self._defaults(duty) for duty in duties})

    def _without_moved(self, built_in: Iterable[DutyGroup], custom: Sequence[DutyGroup]) -> list[DutyGroup]:
        """Return the built-in groups without what groups of the properties have (Druid: ``compactSegments``)."""
        theirs = {duty: group for group in custom for duty in group.duties}
        left = []
        for group in built_in:
            for duty in (each for each in group.duties if each in theirs):
                by = theirs[duty]
                said = f"{duty} runs in group {by.name} every {written(by.period)}, and no longer in {group.name}"
                self._notes.append(said)
            left.append(replace(group, duties=tuple(each for each in group.duties if each not in theirs)))
        return left

    def _defaults(self, duty: str) -> dict[str, str]:
        """Return the arguments that a built-in duty has by properties of its own."""
        switch = SWITCHES.get(duty, "")
        stem = switch.removesuffix("on")
        found = {}
        for argument in ("period",) if duty == "killUnused" else ("period", "durationToRetain"):
            key = f"{stem}{argument}"
            if switch and key in KNOWN:
                parse_period(f"{PREFIX}{key}", self._value(key))
                found[argument] = self._value(key)
        return found

    def _margins(self) -> Margins:
        most = self._value("kill.maxSegments")
        if not (most.isascii() and most.isdigit() and int(most[:10]) > 0 and len(most) <= 10):
            self._refuse("kill.maxSegments", "is no whole number above zero", "Give such as 100")
        retain = parse_period(f"{PREFIX}kill.durationToRetain", self._value("kill.durationToRetain"))
        return Margins(
            duration_to_retain=None if self._flag("kill.ignoreDurationToRetain") else retain,
            buffer=parse_period(f"{PREFIX}kill.bufferPeriod", self._value("kill.bufferPeriod"), zero=False),
            most=int(most),
        )

    def _value(self, key: str) -> str:
        return self._said.get(key, KNOWN[key].default)

    def _flag(self, key: str) -> bool:
        value = self._value(key).lower()
        if value not in ("true", "false"):
            self._refuse(key, "is neither true nor false", "Write true or false")
        return value == "true"

    def _list(self, key: str) -> tuple[str, ...]:
        try:
            found = parse(self._said[key], max_bytes=64 * 1024, max_depth=1)
        except ValueError:
            found = None
        if not isinstance(found, list) or not all(isinstance(each, str) and each for each in found):
            self._refuse(key, "is no JSON list of names", 'Write such as ["one", "two"], each in quotes')
        if len(set(found)) < len(found):
            self._refuse(key, "names one twice", "Name each once")
        return tuple(found)

    def _refuse(self, key: str, problem: str, remedy: str) -> Any:
        raise SettingsError(f"{PREFIX}{key}", self._said.get(key), problem, remedy)

    @staticmethod
    def _nearest(name: str, known: Collection[str], prefix: str = "") -> str:
        near = get_close_matches(name, list(known), 1)
        if near:
            return f"Did you mean {prefix}{near[0]}?"
        return f"Known are {', '.join(f'{prefix}{each}' for each in known)}"


def _period(name: str, text: str) -> timedelta:
    found = parse_duration(name, text, zero=False)
    if found < _SHORTEST:
        raise SettingsError(name, text, "is shorter than a second", "Give PT1S or more, such as PT30S")
    return found


def _text(value: object) -> str:
    """Return a value as a file has it."""
    return value.strip() if isinstance(value, str) else json.dumps(value, default=str)
