"""Counts of what became of every record: as a delivery makes them, and as a store keeps them.

Two equations must hold before a partition may complete. Over the records: *read = delivered everywhere + dropped +
unrouted + dead-lettered + failed*. For each sink: *owed = delivered + dead-lettered + failed*.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any, ClassVar, Final, Protocol

from airflow_coordination.values.input_errors import InvalidInputError

MAX_BYTES: Final = 2_048
"""Size of an accounting as JSON text, in UTF-8."""
MAX_REASONS: Final = 20
"""How many reasons for drops are kept; the rarest beyond are added up as :data:`OTHERS`."""
MAX_SINKS: Final = 8
MAX_NAME_BYTES: Final = 32
MAX_COUNT: Final = 10**15 - 1
OTHERS: Final = "(others)"
_TOTALS: Final = ("read", "delivered_everywhere", "unrouted", "dead_lettered", "failed")


@dataclass(frozen=True, slots=True)
class SinkCounts:
    """What became of the records that one sink was owed.

    :param owed: records for which its condition held.
    :param delivered: those it has confirmed.
    :param dead_lettered: those it refused for good, and that are stored as dead letters.
    :param failed: the rest.
    """

    owed: int = 0
    delivered: int = 0
    dead_lettered: int = 0
    failed: int = 0

    def __add__(self, other: SinkCounts) -> SinkCounts:
        """Return the sums."""
        return SinkCounts(*(mine + theirs for mine, theirs in zip(self.values(), other.values(), strict=True)))

    def values(self) -> tuple[int, int, int, int]:
        """Return the four counts in the order of their names here."""
        return self.owed, self.delivered, self.dead_lettered, self.failed


@dataclass(frozen=True, slots=True, kw_only=True)
class Accounting:
    """Counts of records, and per sink. Two of them add up to one.

    :param read: records of the input.
    :param delivered_everywhere: those that each of their sinks has confirmed.
    :param dropped: those dropped on purpose, by reason.
    :param unrouted: those that no sink was owed.
    :param dead_lettered: those that are stored as dead letters, because a sink refused them or by condition.
    :param failed: those that are nowhere they should be.
    :param sinks: by name of the sink.
    :raises InvalidInputError: for a negative or huge count, too many sinks, what is no mapping or no counts, or a name
        that is empty, too long or holds control characters, quotes or backslashes.
    """

    read: int = 0
    delivered_everywhere: int = 0
    dropped: Mapping[str, int] = field(default_factory=dict)
    unrouted: int = 0
    dead_lettered: int = 0
    failed: int = 0
    sinks: Mapping[str, SinkCounts] = field(default_factory=dict)

    _limited: ClassVar[bool] = True
    """Whether it must fit beside the progress of one partition."""

    def __post_init__(self) -> None:
        self._check_kinds()
        if self._limited and len(self.sinks) > MAX_SINKS:
            problem = f"are more than {MAX_SINKS}, so the accounting would not fit beside the progress"
            raise InvalidInputError("sinks", sorted(self.sinks), problem, "Deliver in two calls")
        for name in (*self.sinks, *(reason for reason in self.dropped if reason != OTHERS)):
            check_name("name", name)
        for name, count in self._counts():
            _check_count(name, count, MAX_COUNT if self._limited else None)
        object.__setattr__(self, "dropped", MappingProxyType(_capped(self.dropped)))
        object.__setattr__(self, "sinks", MappingProxyType(dict(self.sinks)))

    @property
    def delivered(self) -> Mapping[str, int]:
        """The records that each sink has confirmed, by its name."""
        return {name: counts.delivered for name, counts in self.sinks.items()}

    @property
    def done(self) -> int:
        """The records that need nothing any more."""
        return self.delivered_everywhere + sum(self.dropped.values()) + self.unrouted + self.dead_lettered

    def __add__(self, other: Accounting) -> Accounting:
        """Return the accounting of both together."""
        totals = {name: getattr(self, name) + getattr(other, name) for name in _TOTALS}
        names = dict.fromkeys((*self.sinks, *other.sinks))
        dropped = Counter(self.dropped)
        dropped.update(other.dropped)  # a sum of counters would forget the reasons that nothing was dropped for
        sinks = {name: self.sinks.get(name, _NONE) + other.sinks.get(name, _NONE) for name in names}
        return Accounting(**totals, dropped=dropped, sinks=sinks)

    def imbalances(self) -> list[str]:
        """Return the lines of the equations that do not hold, in words; none if it balances."""
        found = []
        if self.read != self.done + self.failed:
            found.append(
                f"read {self.read} ≠ delivered everywhere {self.delivered_everywhere} + dropped "
                f"{sum(self.dropped.values())} + unrouted {self.unrouted} + dead-lettered {self.dead_lettered} "
                f"+ failed {self.failed}"
            )
        for name, counts in self.sinks.items():
            owed, delivered, dead, failed = counts.values()
            if owed != delivered + dead + failed:
                line = f"owed {owed} ≠ delivered {delivered} + dead-lettered {dead} + failed {failed}"
                found.append(f"sink {name!r}: {line}")
        return found

    def to_json(self) -> str:
        """Return it as JSON text of at most :data:`MAX_BYTES` bytes."""
        document: dict[str, Any] = {name: getattr(self, name) for name in _TOTALS}
        document |= {"dropped": dict(self.dropped), "sinks": {k: v.values() for k, v in self.sinks.items()}}
        return json.dumps(document, ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Accounting:
        """Return what :meth:`to_json` wrote.

        :raises InvalidInputError: when it is not an accounting.
        """
        try:
            document = json.loads(text)
            sinks = {name: SinkCounts(*counts) for name, counts in document.pop("sinks").items()}
            return cls(**document, sinks=sinks)
        except InvalidInputError:
            raise
        except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
            raise InvalidInputError("accounting", text, "is no accounting", "Give what to_json() returned") from error

    def _check_kinds(self) -> None:
        both: dict[str, object] = {"dropped": self.dropped, "sinks": self.sinks}
        for name, given in both.items():
            if not isinstance(given, Mapping):
                raise InvalidInputError(name, given, f"is {type(given).__name__}, no mapping", "Give {name: …}")
        sinks: Mapping[str, object] = self.sinks
        for name, counts in sinks.items():
            if not isinstance(counts, SinkCounts):
                problem = f"is {type(counts).__name__}, not the counts of a sink"
                raise InvalidInputError(f"sinks[{name!r}]", counts, problem, "Give SinkCounts(owed=…, delivered=…)")

    def _counts(self) -> list[tuple[str, Any]]:
        counts = [(name, getattr(self, name)) for name in _TOTALS]
        counts += [(f"dropped[{reason!r}]", count) for reason, count in self.dropped.items()]
        return counts + [
            (f"sinks[{name!r}].{part.name}", getattr(each, part.name))
            for name, each in self.sinks.items()
            for part in fields(each)
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class AddedUp(Accounting):
    """The accounting of many partitions together: of any number of sinks, and of any size.

    :param partitions: how many of them have delivered anything.
    """

    partitions: int = 0

    _limited: ClassVar[bool] = False


_NONE = SinkCounts()


def check_name(what: str, name: object) -> None:
    """Refuse a name of a sink or reason that would not fit into an accounting.

    :param what: the field, for the error.
    :raises InvalidInputError: naming the rule.
    """
    if not isinstance(name, str) or not name:
        raise InvalidInputError(what, name, "is no name", "Give a short text")
    if not name.isprintable() or not name.isascii() or set(name) & set('"\\') or name == OTHERS:
        raise InvalidInputError(what, name, "may hold printable ASCII without quotes only", "Give a plain short name")
    if len(name) > MAX_NAME_BYTES:
        raise InvalidInputError(what, name, f"has more than {MAX_NAME_BYTES} characters", "Give a shorter one")


def _check_count(name: str, count: object, most: int | None) -> None:
    if not isinstance(count, int) or isinstance(count, bool) or count < 0 or (most is not None and count > most):
        raise InvalidInputError(name, count, f"is not a whole number from 0 to {MAX_COUNT}", "Give a count of records")


def _capped(dropped: Mapping[str, int]) -> dict[str, int]:
    """Return at most twenty reasons; the rarest become one. The sum stays."""
    if len(dropped) <= MAX_REASONS:
        return dict(dropped)
    named = sorted(((r, n) for r, n in dropped.items() if r != OTHERS), key=lambda item: (-item[1], item[0]))
    kept = dict(named[: MAX_REASONS - 1])
    return kept | {OTHERS: sum(dropped.values()) - sum(kept.values())}


MAX_TEXT_BYTES: Final = 4_096
"""Size of what is stored, in UTF-8; names and numbers are bounded so that it is never longer."""
_OF_A_SINK: Final = ("owed", "delivered", "dead_lettered", "failed")
_DROPPED: Final = "dropped"
BEGINNING: Final = '{"generation":"'
"""What every stored text begins with, so that whose totals it holds can be compared where no JSON is read."""
_OVER: Final = '"over":1,'
"""What comes then in the totals of a pass that is over."""


class Counted(Protocol):
    """What this needs of a partition."""

    @property
    def generation(self) -> str:
        """Its generation."""

    @property
    def accounting_text(self) -> str | None:
        """Its totals as they are stored."""


@dataclass(frozen=True, slots=True)
class Accounts:
    """The totals of one partition as they are stored.

    :param generation: the partition's generation after the step that wrote them: they are valid while it has this one.
    :param over: whether the pass that they count is over, so that the next one counts from zero.
    :param accounting: the totals.
    """

    generation: str
    over: bool
    accounting: Accounting

    @property
    def text(self) -> str:
        """Them as JSON; the counts are flat, so that a database can add them up."""
        document = {"generation": self.generation, "over": int(self.over), "counts": flat(self.accounting)}
        return json.dumps(document, ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def parse(cls, text: str) -> Accounts:
        """Return what is stored.

        :raises InvalidInputError: when it is corrupt; it is never taken for "nothing was counted".
        """
        try:
            document = json.loads(text)
            return cls(str(document["generation"]), bool(document["over"]), of_flat(document["counts"]))
        except (AttributeError, InvalidInputError, KeyError, TypeError, ValueError, RecursionError) as error:
            raise InvalidInputError("accounting", text, "is corrupt in the store", "Reset the partition") from error


def flat(accounting: Accounting) -> dict[str, int]:
    """Return the counts by name, those of sinks and reasons as ``count:name``; zeros of totals are left out."""
    counts = {name: value for name in _TOTALS if (value := getattr(accounting, name))}
    counts |= {f"{_DROPPED}:{reason}": count for reason, count in accounting.dropped.items()}
    for name, sink in accounting.sinks.items():
        counts |= {f"{part}:{name}": count for part, count in zip(_OF_A_SINK, sink.values(), strict=True)}
    return counts


def of_flat(counts: Mapping[str, int]) -> Accounting:
    """Return the accounting with these counts.

    :raises InvalidInputError: when a name or a number is none that :func:`flat` gives.
    """
    return Accounting(**_fields(counts))


def added_up(counts: Mapping[str, int], partitions: int) -> AddedUp:
    """Return the accounting of many partitions, of the sums of their counts.

    :raises InvalidInputError: as :func:`of_flat`.
    """
    return AddedUp(**_fields(counts), partitions=partitions)


def of_partitions(partitions: Iterable[Counted]) -> AddedUp:
    """Return the accounting of these partitions together."""
    return together(stored.accounting for stored in map(current, partitions) if stored is not None)


def together(accountings: Iterable[Accounting]) -> AddedUp:
    """Return the sum of accountings of one partition each."""
    sums, found = Counter[str](), 0
    for accounting in accountings:
        sums.update(flat(accounting))
        found += 1
    return added_up(sums, found)


def _fields(counts: Mapping[str, int]) -> dict[str, Any]:
    """Return the fields of an accounting with these counts.

    :raises InvalidInputError: when a name or a number is none that :func:`flat` gives.
    """
    totals: dict[str, Any] = {}
    dropped: dict[str, int] = {}
    sinks: dict[str, dict[str, int]] = {}
    for name, count in counts.items():
        part, of_one, whose = name.partition(":")
        if not of_one and part in _TOTALS:
            totals[part] = count
        elif of_one and part == _DROPPED:
            dropped[whose] = count
        elif of_one and part in _OF_A_SINK:
            sinks.setdefault(whose, {})[part] = count
        else:
            raise InvalidInputError("accounting", name, "is no name of a count", "Reset the partition")
    return totals | {"dropped": dropped, "sinks": {name: SinkCounts(**parts) for name, parts in sinks.items()}}


def current(partition: Counted) -> Accounts | None:
    """Return the totals of a partition, ``None`` when none are stored or they belong to another generation.

    :raises InvalidInputError: when they are corrupt.
    """
    if partition.accounting_text is None:
        return None
    stored = Accounts.parse(partition.accounting_text)
    return stored if stored.generation == partition.generation else None


def said(partition: Counted) -> str | None:
    """Return the totals of a partition as they are stored, ``None`` when they belong to another generation.

    For those who keep a copy: it is not read, so that corrupt totals never refuse an ending.
    """
    text = partition.accounting_text
    return text if text is not None and text.startswith(f'{BEGINNING}{partition.generation}",') else None


def copied(text: str | None, generations: Collection[str] = ()) -> Accounting | None:
    """Return the accounting in a copy of stored totals, ``None`` when nothing was counted.

    :param generations: of which totals are meant; any if none are named.
    :raises InvalidInputError: when it is corrupt.
    """
    if text is None:
        return None
    stored = Accounts.parse(text)
    return stored.accounting if not generations or stored.generation in generations else None


def after(partition: Counted, counted: Accounting | None, generation: str, stored: str | None = None) -> str | None:
    """Return what a step writes: the totals with what this tenure has counted; ``None`` leaves what is stored.

    :param partition: as its owner's chain knows it: with the accounting from before this tenure.
    :param counted: in this tenure so far; ``None`` when nothing was delivered, or the step does not say so again.
    :param generation: of the partition after the step.
    :param stored: the totals that are stored now, with what this tenure has saved.
    :raises InvalidInputError: when an equation of the accounting does not hold, naming it; when what it would be added
        to is corrupt.
    """
    over = generation != partition.generation
    if counted is None:
        return Accounts(generation, over, Accounts.parse(stored).accounting).text if over and stored else None
    if wrong := counted.imbalances():
        raise InvalidInputError("accounting", counted.to_json(), f"does not balance: {wrong[0]}", "Count every record")
    known = current(partition)
    carried = Accounting() if known is None or known.over else known.accounting
    return Accounts(generation, over, carried + counted).text


def left_by_end(w: Any) -> str | None:
    """Return the totals that an owner's ending leaves, for those who keep a copy: its own, or those of before."""
    found: str | None = w.accounting or w.kept_accounting
    return found


def published_with(w: Any, partition: Counted, *, counted: bool) -> str | None:
    """Return the totals that stand for what an owner's ending publishes.

    :param partition: as its owner's chain knows it.
    :param counted: whether the ending has counted itself. If neither it nor a save of this pass has, the totals may be
        of a pass that was over before, and say nothing of these rows.
    """
    of_before = f'{BEGINNING}{partition.generation}",{_OVER}'
    is_of_before = not counted and (w.kept_accounting or "").startswith(of_before)
    return None if is_of_before else left_by_end(w)


def accounted(w: Any) -> dict[str, Any]:
    """Return the field that a write changes if it carries totals."""
    return {} if w.accounting is None else {"accounting_text": w.accounting}
