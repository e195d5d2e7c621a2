"""What became of every record: counts that add up, small enough to travel with progress.

Two equations must hold before a partition may complete. Over the records: *read = delivered everywhere + dropped +
unrouted + dead-lettered + failed*. For each sink: *owed = delivered + dead-lettered + failed*.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any, ClassVar, Final

from airflow_coordination.leases.errors import InvalidInputError

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
