"""The tally of one Spark task, how tasks' tallies become one, and whose fault refusals are.

A record's *arrival* is three sets of sinks: those that took it, those whose refusal is a dead letter, and the rest.
Tasks count how many records have which arrival, so that a sink that fails as it is closed can still be taken out of all
of them. What sinks were owed is counted by another hand: from the conditions, before any sink is asked.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from airflow_coordination.systems.sink import MAX_REASON, Answer, AnswerKind
from airflow_coordination.values.accounting import Accounting, SinkCounts

ENOUGH: Final = 10
"""Records of bulks that were refused as a whole, one after the other, after which nobody believes in chance."""
TOLD: Final = "it refuses every record for one reason, which is no record's fault: "
_OF_ONE_RECORD: Final = re.compile(r"""(?<!\w)'.*?'(?!\w)|"[^"]*"|\d+""")


def alike(reason: str) -> str:
    """Return a reason without what only one record has: what is quoted, and numbers."""
    return _OF_ONE_RECORD.sub("…", reason)


class Refusals:
    """Refusals of one sink in one Spark task, bulk after bulk."""

    def __init__(self) -> None:
        self._reason, self._count = "", 0

    def are_the_sink_s(self, answers: Sequence[Answer]) -> bool:
        """Take a bulk's answers, and say whether their refusals are the sink's fault."""
        refused = [each for each in answers if each.kind is AnswerKind.REFUSED]
        reasons = {alike(each.reason) for each in refused}
        if len(refused) < len(answers) or len(reasons) != 1:
            self._reason, self._count = "", 0
            return False
        [reason] = reasons
        self._count = len(refused) + (self._count if reason == self._reason else 0)
        self._reason = reason
        return self._count >= ENOUGH


_REASONS = 2
"""Reasons of refusals that are kept: whether there was one, or several."""


class Arrival(NamedTuple):
    """Sinks by what they made of a record, as bits: sink *i* is ``1 << i``.

    The bit behind the last sink is the dead letters, for a record that goes there by their own condition.
    """

    delivered: int = 0
    dead: int = 0
    failed: int = 0


@dataclass(slots=True)
class Tally:
    """The counts of one Spark task, or of several together.

    :param owed: per sink, from its condition.
    :param dropped: per reason.
    :param arrivals: how many records have which arrival; without those that were dropped or go nowhere.
    :param errors: the first error of each sink by its number; that of the dead letters under -1.
    :param notes: what each sink's writers said as they were closed.
    :param dead_letter_files: of the accepted tasks.
    :param reasons: why each sink refused records, without what only one record has; two at most.
    :param sums: per sink that is a block, and for the dead letters by condition behind all sinks, sums over the records
        that it was owed: equal numbers of other records have others.
    :param blamed: the sinks whose refusals are their own fault.
    :param missing: per sink, or for the dead letters, the library that it needs and the task's Python lacks.
    :param held_back: the task has delivered nothing, because it could not look at all keys or they tell nothing apart.
    """

    owed: list[int]
    dropped: list[int]
    read: int = 0
    unrouted: int = 0
    arrivals: Counter[Arrival] = field(default_factory=Counter)
    errors: dict[int, str] = field(default_factory=dict)
    notes: dict[int, list[str]] = field(default_factory=dict)
    dead_letter_files: list[str] = field(default_factory=list)
    reasons: dict[int, list[str]] = field(default_factory=dict)
    blamed: list[int] = field(default_factory=list)
    sums: dict[int, list[int]] = field(default_factory=dict)
    missing: dict[int, str] = field(default_factory=dict)
    held_back: bool = False

    @property
    def aside(self) -> Arrival:
        """How a record arrives that no sink was asked about, because it is a dead letter by condition."""
        return Arrival(dead=1 << len(self.owed))

    def note_error(self, sink: int, text: str) -> None:
        """Keep the first error of a sink."""
        self.errors.setdefault(sink, text)

    def note_failure(self, sink: int, error: Exception) -> None:
        """Keep the first error that a sink has raised, and which library it has missed."""
        self.note_error(sink, f"{type(error).__name__}: {error}"[:MAX_REASON])
        if isinstance(error, ModuleNotFoundError):
            self.missing.setdefault(sink, str(error.name))

    def note_refusals(self, sink: int, answers: Iterable[Answer]) -> None:
        """Keep for what a sink refuses records."""
        self.add_reasons(sink, (alike(each.reason) for each in answers if each.kind is AnswerKind.REFUSED))

    def add_reasons(self, sink: int, reasons: Iterable[str]) -> None:
        """Add to the reasons that are kept of a sink."""
        known = self.reasons.setdefault(sink, [])
        for reason in reasons:
            if reason not in known and len(known) < _REASONS:
                known.append(reason)

    def blame(self, sink: int, text: str) -> None:
        """Keep that the refusals of a sink are its own fault."""
        self.errors[sink] = text
        if sink not in self.blamed:
            self.blamed.append(sink)

    def add_sums(self, sink: int, more: Iterable[int | None]) -> None:
        """Add to the sums of what a sink was owed."""
        parts = [each or 0 for each in more]
        self.sums[sink] = [mine + new for mine, new in zip(self.sums.get(sink, [0] * len(parts)), parts, strict=True)]

    def judge(self) -> None:
        """Make no dead letters where a sink is to blame: not of what it took nothing of, for one reason.

        Called where the counts of all tasks are together. What others refused comes again as well.
        """
        for sink, reasons in self.reasons.items():
            dead = self._counts(sink).dead_lettered
            if len(reasons) == 1 and dead == self.owed[sink] > 1:
                self.blame(sink, f"{TOLD}{self.errors[sink]}"[:MAX_REASON])
        if self.blamed:
            self.no_dead_letters()
            self.dead_letter_files = []

    def not_safe(self, sink: int) -> None:
        """Take back all that ``sink`` said: it could not be closed."""
        bit = 1 << sink

        def without(one: Arrival) -> Arrival:
            return Arrival(one.delivered & ~bit, one.dead, one.failed | (one.delivered & bit))

        self.arrivals = _changed(self.arrivals, without)

    def no_dead_letters(self) -> None:
        """Count what was to be a dead letter as failed: the file could not be stored."""
        self.arrivals = _changed(self.arrivals, lambda one: Arrival(one.delivered, 0, one.failed | one.dead))

    def wrote_letters(self, written: Tally) -> None:
        """Put what became of the records set aside in the place of their number, which was counted before.

        :param written: by the pass over these records alone.
        """
        del self.arrivals[self.aside]
        self.arrivals.update(written.arrivals)
        self.dead_letter_files += written.dead_letter_files
        for sink, text in written.errors.items():
            self.note_error(sink, text)

    def to_json(self) -> str:
        """Return it as JSON text."""
        return json.dumps(
            {
                "read": self.read,
                "unrouted": self.unrouted,
                "owed": self.owed,
                "dropped": self.dropped,
                "arrivals": [[*arrival, count] for arrival, count in self.arrivals.items()],
                "errors": list(self.errors.items()),
                "notes": list(self.notes.items()),
                "dead_letter_files": self.dead_letter_files,
                "reasons": list(self.reasons.items()),
                "blamed": self.blamed,
                "sums": list(self.sums.items()),
                "missing": list(self.missing.items()),
                "held_back": self.held_back,
            }
        )

    @classmethod
    def from_json(cls, text: str) -> Tally:
        """Return what :meth:`to_json` wrote."""
        document = json.loads(text)
        document["arrivals"] = Counter({Arrival(*arrival): count for *arrival, count in document["arrivals"]})
        by_sink = ("errors", "notes", "reasons", "sums", "missing")
        return cls(**document | {name: dict(document[name]) for name in by_sink})

    def accounting(self, sinks: Sequence[str], reasons: Sequence[str]) -> Accounting:
        """Return the counts under the names of sinks and reasons."""
        return Accounting(
            read=self.read,
            unrouted=self.unrouted,
            dropped=dict(zip(reasons, self.dropped, strict=True)),
            failed=self._number(lambda one: bool(one.failed)),
            dead_lettered=self._number(lambda one: bool(one.dead and not one.failed)),
            delivered_everywhere=self._number(lambda one: not one.dead and not one.failed),
            sinks={name: self._counts(number) for number, name in enumerate(sinks)},
        )

    def _counts(self, sink: int) -> SinkCounts:
        bit = 1 << sink
        return SinkCounts(
            self.owed[sink],
            delivered=self._number(lambda one: bool(one.delivered & bit)),
            dead_lettered=self._number(lambda one: bool(one.dead & bit)),
            failed=self._number(lambda one: bool(one.failed & bit)),
        )

    def _number(self, of: Callable[[Arrival], bool]) -> int:
        return sum(count for arrival, count in self.arrivals.items() if of(arrival))


def added_up(tallies: Iterable[Tally], sinks: int, reasons: int) -> Tally:
    """Return the counts of all accepted tasks together."""
    total = Tally([0] * sinks, [0] * reasons)
    for each in tallies:
        total.read += each.read
        total.unrouted += each.unrouted
        total.owed = [mine + theirs for mine, theirs in zip(total.owed, each.owed, strict=True)]
        total.dropped = [mine + theirs for mine, theirs in zip(total.dropped, each.dropped, strict=True)]
        total.arrivals.update(each.arrivals)
        total.dead_letter_files += each.dead_letter_files
        for sink, text in each.errors.items():
            total.note_error(sink, text)
        for sink, notes in each.notes.items():
            total.notes.setdefault(sink, []).extend(notes)
        for sink, sums in each.sums.items():
            total.add_sums(sink, sums)
        total.missing = each.missing | total.missing
        total.held_back |= each.held_back
        _add_blame(total, each)
    return total


def _add_blame(total: Tally, task: Tally) -> None:
    for sink, reasons in task.reasons.items():
        total.add_reasons(sink, reasons)
    for sink in task.blamed:
        total.blame(sink, task.errors[sink])


def _changed(arrivals: Counter[Arrival], change: Callable[[Arrival], Arrival]) -> Counter[Arrival]:
    changed: Counter[Arrival] = Counter()
    for arrival, count in arrivals.items():
        changed[change(arrival)] += count
    return changed
