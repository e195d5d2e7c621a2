"""Mutants of the operation table that need no text of it: made from the words that its rules are said in.

A rule is two functions over an algebra. So one word of it can be left out, by its number, whatever line it stands in:
the third conjunct of a condition, a field of the changes, a record. Every engine reads the same rule, and a mutant is
put into the rule itself, so nothing is imported anew for it.

A name says all of it: ``rule.acquire/conjunct 3``, ``rule.end/field staged``, ``rule.act.reset held/record Audit``.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any, Final

from airflow_coordination.protocol import rules
from airflow_coordination.protocol.algebra import Rule
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.transitions import Event, allowed
from airflow_coordination.protocol.writes import KEEP, Action
from airflow_coordination.values.status import ASSIGNED, Outcome
from tests.mutants.catalogue import AS_IT_IS
from tests.mutants.mutant import RULE

LIFE: Final = (
    "accounting_text",
    "closed_count",
    "failures",
    "generation",
    "lost_leases",
    "payload_text",
    "progress_text",
    "staged",
    "waits_for",
)
"""What a step must not lose of a partition unless its rule says so: its work, its counts, and what it comes after."""
_FRESH: Final[Mapping[str, Any]] = {
    field.name: field.default_factory() if field.default_factory is not MISSING else field.default
    for field in fields(Partition)
    if field.default is not MISSING or field.default_factory is not MISSING
}


class _Anything:
    """Has every attribute, so that a rule can be asked without a partition and a write."""

    def __init__(self, **known: Any) -> None:
        self.__dict__.update(known)

    def __getattr__(self, name: str) -> Any:
        return _Anything()

    def __call__(self, *_: Any, **__: Any) -> Any:
        return _Anything()

    def __len__(self) -> int:
        return 1

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __lt__(self, other: object) -> bool:
        return True


class Broken:
    """The words of another algebra, one of which is broken.

    :param words: the algebra.
    :param part: what is broken, such as ``conjunct 3``: the third that a rule says, inner ones before outer ones.
    """

    def __init__(self, words: Any, part: str = "") -> None:
        self._words, self._part = words, part
        self.met = Counter[str]()
        self.idle = set[str]()
        """What it would change nothing to break: a choice of which the table itself says the outcome."""

    def __getattr__(self, word: str) -> Any:
        return getattr(self._words, word)

    def _is(self, *kinds: str) -> str:
        """Count one more of these kinds; return the one of which this is the broken one, if it is."""
        self.met.update(kinds)
        return next((kind for kind in kinds if self._part == f"{kind} {self.met[kind]}"), "")

    def heard(self) -> list[str]:
        """Return all that could be broken of what was said."""
        parts = (f"{kind} {number}" for kind, met in self.met.items() for number in range(1, met + 1))
        return [part for part in parts if part not in self.idle]

    def both(self, *conditions: Any) -> Any:
        """Leave out one of the conditions."""
        kept = [condition for condition in conditions if not self._is("conjunct")]
        return kept[0] if len(kept) == 1 else self._words.both(*kept)

    def either(self, *conditions: Any) -> Any:
        """Leave out one of the ways."""
        kept = [condition for condition in conditions if not self._is("alternative")]
        return kept[0] if len(kept) == 1 else self._words.either(*kept)

    def less(self, one: Any, other: Any) -> Any:
        """Be content with the boundary."""
        return (self._words.at_most if self._is("boundary") else self._words.less)(one, other)

    def at_most(self, one: Any, other: Any) -> Any:
        """Refuse the boundary."""
        return (self._words.less if self._is("boundary") else self._words.at_most)(one, other)

    def within(self, count: Any, limit: Any, own: Any) -> Any:
        """Allow one more."""
        return self._words.within(self._words.plus(count, -1) if self._is("limit") else count, limit, own)

    def when(self, condition: Any, then: Any, otherwise: Any) -> Any:
        """Choose whatever the condition says."""
        broken = self._is("always then", "always else")
        if condition is True:
            self.idle.add(f"always then {self.met['always then']}")
        if broken:
            return then if broken == "always then" else otherwise
        return self._words.when(condition, then, otherwise)

    def plus(self, one: Any, other: Any) -> Any:
        """Add nothing."""
        return one if self._is("sum") else self._words.plus(one, other)

    def later(self, one: Any, other: Any) -> Any:
        """Take the second, whichever is later."""
        return other if self._is("later") else self._words.later(one, other)

    def entered(self, partition: Any, ending: tuple[Any, ...], when: Any = True) -> Any:
        """Say a part of the ending wrong, or enter it whenever."""
        parts = tuple(0 if self._is("ending") else part for part in ending)
        if when is True:
            self.idle.add(f"entry {self.met['entry'] + 1}")
        return self._words.entered(partition, parts, True if self._is("entry") else when)


@dataclass(frozen=True, slots=True)
class Case:
    """A rule, or that part of it which is said for some writes.

    :param name: such as ``acquire``, ``act.reset held``.
    :param rule: the rule.
    :param writes: stand for the writes that it is said for.
    :param meant: whether a write is one of them.
    :param with_words: whether the words of its changes are broken here: not where another rule says the same ones.
    """

    name: str
    rule: Rule
    writes: tuple[Any, ...]
    meant: Callable[[Any], bool] = lambda _: True
    with_words: bool = True


_LIKE_ACQUIRE: Final = (rules.ACQUIRE_AS_SEEN, rules.RETAKE, rules.STEAL)
"""They start tenures as an acquisition does; only their conditions are their own."""


def cases() -> Iterator[Case]:
    """Yield every rule; that of people's actions once for each action, on what is held and on what is free."""
    for name, rule in vars(rules).items():
        if isinstance(rule, Rule) and rule is not rules.ACT:
            yield Case(name.lower(), rule, tuple(_writes(rule)), with_words=rule not in _LIKE_ACQUIRE)
    for action in Action:
        found = {(status is ASSIGNED) for status in _STATUSES if allowed(Event[action.name], status)}
        for held in sorted(found):
            name = f"act.{action.value.replace(' ', '_')} {'held' if held else 'free'}"
            seen = _Anything(status=ASSIGNED if held else None)
            write = _Anything(source="flights", action=action, seen=seen)
            as_others = held and action is not Action.RELEASE
            yield Case(name, rules.ACT, (write,), partial(_is_meant, action, held), with_words=not as_others)


_STATUSES: Final = tuple(type(ASSIGNED))


def _is_meant(action: Action, held: bool, write: Any) -> bool:
    return write.action is action and (write.seen.status is ASSIGNED) == held


def _writes(rule: Rule) -> Iterator[Any]:
    """Yield what stands for writes of a rule: one that says all it can, and one that says as little as it can."""
    known = {"source": "flights", "last_error": "", "key": "a", "rows": 0, "bytes": 0}
    yield _Anything(**known, outcome=Outcome.FAILED)
    if rule in (rules.SAVE, rules.END):
        least = {"progress": KEEP, "clear_staged": False, "completes": False, "accounting": None}
        yield _Anything(**known, **least, outcome=Outcome.COMPLETED)


@dataclass(frozen=True, slots=True)
class Breach:
    """One mutant.

    :param case: the rule.
    :param part: what of it is broken.
    """

    case: Case
    part: str

    @property
    def name(self) -> str:
        """What it is asked for by."""
        return f"{RULE}{self.case.name}/{self.part}"

    def put_in_place(self) -> None:
        """Break the rule, in this process, for all who have imported it."""
        for rule in (self.case.rule, *(_LIKE_ACQUIRE if self.is_shared else ())):
            self._put_into(rule)

    @property
    def is_shared(self) -> bool:
        """Whether it breaks what several rules share."""
        return self.case.rule is rules.ACQUIRE and self.part.partition(" ")[0] in ("field", "after")

    def _put_into(self, rule: Rule) -> None:
        kind, _, what = self.part.partition(" ")
        if kind == "pause":
            return _put(rule, held_back=not rule.held_back)
        if kind == "record":
            return _put(rule, records=self._sometimes(rule.records, self._without_records(what)))
        if change := {"field": _without, "loses": _losing, "after": _said}.get(kind):
            return _put(rule, changes=self._sometimes(rule.changes, change(rule.changes, what)))
        condition = _anything_goes if kind == "unconditional" else _said(rule.condition, self.part)
        return _put(rule, condition=self._sometimes(rule.condition, condition))

    def _without_records(self, name: str) -> Callable[[Any], Iterator[Any]]:
        records = self.case.rule.records
        return lambda w: (record for record in records(w) if type(record).__name__ != name)

    def _sometimes(self, whole: Callable[..., Any], broken: Callable[..., Any]) -> Callable[..., Any]:
        """Return what is broken for the writes that are meant; the write is the only argument, or the third."""

        def said(*given: Any) -> Any:
            write = given[2] if len(given) > 1 else given[0]
            return (broken if self.case.meant(write) else whole)(*given)

        return said


def _put(rule: Rule, **parts: Any) -> None:
    for name, part in parts.items():
        object.__setattr__(rule, name, part)


def _said(function: Callable[..., Any], part: str) -> Callable[..., Any]:
    return lambda x, *given: function(Broken(x, part), *given)


def _anything_goes(x: Any, p: Any, *_: Any) -> Any:
    return x.at_most(0, p.token)


def _without(changes: Callable[..., Any], name: str) -> Callable[..., Any]:
    return lambda *given: {field: value for field, value in changes(*given).items() if field != name}


def _losing(changes: Callable[..., Any], name: str) -> Callable[..., Any]:
    return lambda *given: {name: _FRESH[name], **changes(*given)}


def _breaches(case: Case) -> Iterator[str]:
    """Yield all that can be broken of a rule, each once."""
    partition = now = _Anything()
    for write in case.writes:
        said, after = Broken(_Anything()), Broken(_Anything())
        case.rule.condition(said, partition, write, now)
        yield from said.heard()
        changes = case.rule.changes(after, partition, write, now)
        if case.with_words:
            yield from (f"after {part}" for part in after.heard())
        if case.with_words or case.rule is rules.ACT:
            yield from (f"field {name}" for name in changes)
        yield from (f"loses {name}" for name in LIFE if name in _FRESH and name not in changes)
        yield from (f"record {type(record).__name__}" for record in case.rule.records(write))
    yield "unconditional"
    if case.rule is not rules.ACT:
        yield "pause"


def all_breaches() -> tuple[Breach, ...]:
    """Return every mutant of the table."""
    return tuple(Breach(case, part) for case in cases() for part in dict.fromkeys(_breaches(case)))


def put_in_place(name: str) -> None:
    """Break what a name says, in this process; or only wrap the words of every rule, if it is the control's.

    :raises KeyError: when there is none of this name.
    """
    if name == AS_IT_IS:
        for rule in {case.rule for case in cases()}:
            _put(rule, condition=_said(rule.condition, ""), changes=_said(rule.changes, ""))
        return
    {breach.name: breach for breach in all_breaches()}[name].put_in_place()


def modules_of_the_table() -> tuple[Path, ...]:
    """Return the files that the rules, and what they share, are written in."""
    said = {part.__module__ for case in cases() for part in (case.rule.condition, case.rule.changes, case.rule.records)}
    names = sorted({*said, rules.__name__, Rule.__module__})
    return tuple(Path(sys.modules[name].__file__ or "") for name in names)
