"""What only a person can move in a source, as sentences; and what is wrong with a source, the worst first.

What stands here goes on when somebody does something. What a sweep or the next acquirer mends by itself does not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from airflow_coordination.monitoring.counts import Counts
from airflow_coordination.monitoring.owners import Holding
from airflow_coordination.monitoring.summaries import grouped
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.pause import Pause
from airflow_coordination.values.input_errors import printable

PARKED: Final = "parked"
SILENT: Final = "silent"
PAUSED: Final = "paused"
BLOCKED: Final = "blocked"
EXPIRED: Final = "expired"
TROUBLES: Final = (PARKED, SILENT, PAUSED, BLOCKED, EXPIRED)
"""What can be wrong with a source, the worst first: the first three go on by a person only."""
_NAMED: Final = 3
"""So many errors, or owners, are named; of the others their number is said."""
_LONGEST: Final = 160
"""Characters of what somebody said, or of an error, that are told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """Parked partitions with one error.

    :param error: the kind of it, or its beginning.
    :param alike: what a filter finds exactly them by.
    :param number: how many, of those that were looked at.
    """

    error: str
    alike: str
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """One thing that only a person can move.

    :param kind: ``parked``, ``silent`` or ``paused``.
    :param number: of partitions that it is about.
    :param what: a sentence without an end, to which a source and a time can be added.
    :param more: what one wants to know before one looks.
    :param since: since when, by the store's clock, as far as the partitions tell.
    :param owner: who is silent.
    :param key: what it is about, where that is one partition.
    :param errors: of parked ones the most frequent errors, :data:`_NAMED` at most; ``more`` says them, too.
    """

    kind: str
    number: int
    what: str
    more: str
    since: datetime | None
    owner: str | None = None
    key: str | None = None
    errors: tuple[Failed, ...] = ()


def needs_of(counts: Counts, pause: Pause, held: Iterable[Holding], parked: Sequence[Partition]) -> list[Need]:
    """Return what needs a person in a source, the worst first.

    :param counts: of the source.
    :param held: its leases, or the first of them.
    :param parked: its parked partitions, or the first of them.
    """
    return [*_parked(counts, parked), *_silent(held), *_paused(counts, pause)]


def trouble_of(counts: Counts, needs: Sequence[Need]) -> str | None:
    """Return the worst of what is wrong with a source, one of :data:`TROUBLES`; ``None`` of one that is well."""
    if needs:
        return needs[0].kind
    if counts.blocked and not (counts.claimable or counts.held or counts.delayed or counts.expired):
        return BLOCKED
    return EXPIRED if counts.expired else None


def said_of(counts: Counts, needs: Sequence[Need], pause: Pause) -> str | None:
    """Return what is wrong with a source in sentences, and at the end what happens by itself; ``None`` if it is well.

    :param pause: of the source: while it lasts nobody takes anything.
    """
    if trouble_of(counts, needs) is None:
        return None
    return " ".join(filter(None, (_waits_for_people(counts, needs, pause), _by_itself(counts, pause))))


def _waits_for_people(counts: Counts, needs: Sequence[Need], pause: Pause) -> str:
    said = []
    if counts.parked:
        said.append(f"{_are(counts.parked)} parked: a person reopens {_them(counts.parked)}.")
    if counts.blocked:
        said.append(f"{_are(counts.blocked)} blocked behind {'its' if counts.blocked == 1 else 'their'} parents.")
    said += [f"{need.what}." for need in needs if need.kind == SILENT]
    if pause.unending:
        waiting = counts.claimable + counts.expired
        said.append(f"Nobody takes what is claimable ({waiting:,}) before a person resumes the source.")
    return " ".join(said)


def _by_itself(counts: Counts, pause: Pause) -> str:
    if pause.paused:
        return ""
    said = [(counts.expired, "expired"), (counts.claimable, "claimable")]
    taken = [f"{number:,} {word}" for number, word in said if number]
    if taken:
        go = "goes" if sum(number for number, _ in said) == 1 else "go"
        return f"By itself: {' and '.join(taken)} {go} to whoever comes next."
    return "" if counts.held or counts.delayed else "Nothing happens by itself."


def _are(number: int) -> str:
    return f"{number:,} {'is' if number == 1 else 'are'}"


def _them(number: int) -> str:
    return "it" if number == 1 else "them"


def _parked(counts: Counts, parked: Sequence[Partition]) -> list[Need]:
    if not counts.parked:
        return []
    groups = grouped(parked)
    named = [f"{group.number:,} {_short(group.error)}" for group in groups[:_NAMED]]
    if len(groups) > _NAMED:
        named.append(f"{len(groups) - _NAMED:,} other {'error' if len(groups) == _NAMED + 1 else 'errors'}")
    if len(parked) < counts.parked and parked:
        named.append(f"of the first {len(parked):,}")
    since = min(filter(None, (group.since for group in groups)), default=None)
    what, more = f"{counts.parked:,} parked", " · ".join(named)
    errors = tuple(Failed(error=_short(one.error), alike=one.alike, number=one.number) for one in groups[:_NAMED])
    key = groups[0].key if counts.parked == len(parked) == 1 else None
    return [Need(kind=PARKED, number=counts.parked, what=what, more=more, since=since, key=key, errors=errors)]


def _short(error: str) -> str:
    """Return the kind of an error, which stands before the first colon, or its beginning."""
    kind = error.partition(":")[0].rpartition(".")[2].strip()
    return kind if kind.isidentifier() else printable(error, _LONGEST // 2)


def _silent(held: Iterable[Holding]) -> list[Need]:
    silent = [each for each in held if each.silent]
    by_owner = Counter(each.owner for each in silent)
    found = []
    for owner, number in sorted(by_owner.items(), key=lambda one: (-one[1], one[0])):
        theirs = [each for each in silent if each.owner == owner]
        since = min(filter(None, (each.sign_at for each in theirs)), default=None)
        until = max(filter(None, (each.expires_at for each in theirs)))
        what = f"{_name_of(theirs[0])} holds {number:,} and gives no sign"
        more = f"{printable(theirs[0].key, _LONGEST)}{f' and {number - 1:,} more' if number > 1 else ''}"
        more += f" · nobody else gets {_them(number)} before {until.isoformat(timespec='minutes')}"
        key = theirs[0].key if number == 1 else None
        found.append(Need(kind=SILENT, number=number, what=what, more=more, since=since, owner=owner, key=key))
    return found


def _name_of(held: Holding) -> str:
    """Return an owner as people call it: the host of a task, or the name itself."""
    return printable(held.task.hostname if held.task else held.owner, _LONGEST // 2)


def _paused(counts: Counts, pause: Pause) -> list[Need]:
    if not pause.unending:
        return []
    waiting = counts.claimable + counts.expired
    what = "has paused itself" if pause.braked else "is paused"
    by = "" if pause.braked else f"by {printable(pause.by or '', _LONGEST)}: "
    more = f"{by}“{printable(pause.why or '', _LONGEST)}” · {waiting:,} {'waits' if waiting == 1 else 'wait'}"
    return [Need(kind=PAUSED, number=waiting, what=what, more=more, since=pause.at)]
