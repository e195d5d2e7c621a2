"""The check of a history, whether it keeps the promises: each partition, families, pauses and notes."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from airflow_coordination.leases.confirm import FORGOTTEN
from airflow_coordination.protocol.beside.documents import Document
from airflow_coordination.protocol.beside.parts import parts_of
from airflow_coordination.protocol.metrics import Metric
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.testing.forwarding import there
from airflow_coordination.testing.history.linearizability import Stuck, Undecided, explain
from airflow_coordination.testing.history.model import Model
from airflow_coordination.testing.history.operations import GRANTS, HELD_BACK, NEVER, Kind, Operation, Told
from airflow_coordination.testing.history.views import Views, said
from airflow_coordination.values.fence import RING_SIZE
from airflow_coordination.values.settings import Settings

_FINISH = (Kind.COMPLETE, Kind.CLOSE, Kind.FINISH)
"""What may finish a partition; a close does at the maximum only."""


def acquired_early(operations: Sequence[Operation]) -> Iterator[tuple[Operation, str]]:
    """Yield acquisitions that were heard of before any call began that can have finished a parent, and that parent.

    Of several creations of a child any may be the one that made it. Those that name no parents excuse it.

    :param operations: all calls on a source, in the order in which they were made.
    """
    finished_from: dict[str, float] = {}
    named: dict[str, list[tuple[str, ...]]] = {}
    for made in operations:
        if made.told in (Told.OK, Told.UNKNOWN):
            if made.kind in _FINISH:
                finished_from.setdefault(made.key, made.invoked)
            elif made.kind is Kind.CREATE:
                named.setdefault(made.key, []).append(tuple(made.given.get("parents", ())))
    for made in operations:
        if made.kind in GRANTS and made.told is Told.OK:
            ahead = [
                [parent for parent in parents if finished_from.get(parent, NEVER) > made.answered]
                for parents in named.get(made.key, ())
            ]
            if ahead and all(ahead):
                yield made, ahead[-1][0]


@dataclass(frozen=True, slots=True)
class Paused:
    """One pause, as two spans of time: in the inner one the source was paused, outside of the outer one it was not.

    :param call: that paused it.
    :param since: when its answer came; ``NEVER`` where none did.
    :param until: when the first call that may have resumed it was made.
    :param perhaps_until: when the first answer came that it is resumed.
    """

    call: Operation
    since: float
    until: float
    perhaps_until: float

    @property
    def perhaps_since(self) -> float:
        """When it was called for."""
        return self.call.invoked

    def forbids(self, made: Operation, grace: float) -> bool:
        """Return whether a call was made while the source was surely paused, and answered before it was resumed.

        :param grace: seconds after which the last process knows of a pause.
        """
        return self.since + grace <= made.invoked and made.answered <= self.until

    def excuses(self, made: Operation) -> bool:
        """Return whether the source may have been paused at some time during a call."""
        return self.perhaps_since <= made.answered and made.invoked <= self.perhaps_until


def pauses(operations: Sequence[Operation]) -> Iterator[Paused]:
    """Yield the pauses of a history, also those of which nobody knows whether they were applied."""
    resumes = [made for made in operations if made.kind is Kind.RESUME and made.told in (Told.OK, Told.UNKNOWN)]
    for made in operations:
        if made.kind is Kind.PAUSE and made.told in (Told.OK, Told.UNKNOWN):
            later = [resume for resume in resumes if resume.answered > made.invoked]
            until = min((resume.invoked for resume in later), default=NEVER)
            heard = (resume.answered for resume in later if resume.told is Told.OK and resume.invoked > made.invoked)
            since = made.answered if made.told is Told.OK else NEVER
            yield Paused(made, since, until, min(heard, default=NEVER))


def acquired_under(paused: Paused, operations: Sequence[Operation], grace: float) -> Iterator[Operation]:
    """Yield the acquisitions that a pause has not held back."""
    for made in operations:
        if made.kind in HELD_BACK and made.told is Told.OK and paused.forbids(made, grace):
            yield made


_ALL = 1_000_000


def not_noted(calls: Iterable[Operation], store: PartitionStore, source: str) -> Iterator[str]:
    """Yield what is noted and should not be, or should be and is not.

    :param calls: a history in which nobody has cleared anything, and each note is given once.
    :param source: the stored source identifier.
    """
    told: dict[str, set[Told]] = {}
    for made in calls:
        if made.given.get("then") is not None:
            told.setdefault(made.given["then"], set()).add(made.told)
    texts = [note.text for note in there(parts_of(store).follow_ups).follow_ups(source, None, None, _ALL)]
    for text in {text for text in texts if texts.count(text) > 1}:
        yield f"{text} is noted twice"
    for text, outcomes in told.items():
        if Told.OK in outcomes and text not in texts:
            yield f"{text} was to follow an accepted ending, and is not noted"
    for text in texts:
        if not told.get(text, set()) & {Told.OK, Told.UNKNOWN}:
            yield f"{text} is noted, and no ending of it was accepted"


@dataclass(frozen=True, slots=True)
class Violation:
    """A promise that a history breaks.

    :param promise: its name in ``protocol.md``.
    :param what: what happened, for people.
    :param calls: the calls that show it, as far as they are few.
    """

    promise: str
    what: str
    calls: tuple[Operation, ...] = ()

    def __str__(self) -> str:
        return "\n    ".join([f"{self.promise}: {self.what}", *map(str, self.calls)])


def check(
    operations: Sequence[Operation], settings: Settings, behind: float = 0.0, documents: Iterable[Document] = ()
) -> list[Violation]:
    """Return what a history breaks: S1, S3, S5 to S8, S12, S19, S22, S28, L5 (see the rules below).

    :param operations: all calls on one source, in the order in which they were made.
    :param settings: as the source's coordinators have them.
    :param behind: by how many seconds the store's own time may be behind the history's; 2 for DynamoDB.
    :param documents: all versions of the source's view, as the store has them in the end.
    """
    views = Views(documents, operations)
    return [
        *fences_are_unique(operations),
        *nothing_is_forgotten_early(operations),
        *children_come_after_their_parents(operations),
        *views_are_those_that_were(operations, views),
        *branches_show_whole(operations, views),
        *each_partition_is_linearizable(by_key(operations), Model(settings, behind, views)),
    ]


def by_key(operations: Iterable[Operation]) -> list[Operation]:
    """Return a history in which each reading of what shows is one for each partition that somebody has named."""
    calls = list(operations)
    keys = sorted({made.key for made in calls if made.key})
    found: list[Operation] = []
    for made in calls:
        if made.kind is not Kind.SHOWN:
            found.append(made)
        elif made.told is Told.OK:
            shown = made.result["published"]
            results = ({**made.result, "digests": shown.get(key, ())} for key in keys)
            found += (replace(made, key=key, result=result) for key, result in zip(keys, results, strict=True))
    return found


def views_are_those_that_were(operations: Iterable[Operation], views: Views) -> Iterator[Violation]:
    """S22: who reads what shows does so under a view that was in force meanwhile; nothing of strangers."""
    calls = list(operations)
    keys = {made.key for made in calls}
    for made in calls:
        if made.kind is Kind.SHOWN and made.told is Told.OK:
            under = {name: made.result[name] for name in ("shown", "hidden")}
            if all(said(view) != under for view in views.at_some_time(made)):
                yield Violation("S22", "read under a view that was not there", (made,))
            if strangers := sorted(set(made.result["published"]) - keys):
                yield Violation("S22", f"something shows of {strangers[0]!r}, which nobody has named", (made,))


def branches_show_whole(operations: Sequence[Operation], views: Views) -> Iterator[Violation]:
    """S22: a branch is published after each partition that was surely in it had something to end it there."""
    whole = views.whole()
    for number, version in views.published().items():
        inside = whole.get(number)
        for key, calls in by_partition(operations).items():
            into = [
                made
                for made in calls
                if made.kind in (Kind.RESET, Kind.CREATE)
                and made.given.get("branch") == number
                and made.told is Told.OK
                and inside is not None
                and made.answered <= inside.perhaps_since
            ]
            if into and not _may_have_finished(calls, into[0].invoked, version.since):
                problem = f"branch {number} shows, and partition {key!r} has not completed in it"
                yield Violation("S22", problem, (into[0],))


def _may_have_finished(calls: Iterable[Operation], since: float, until: float) -> bool:
    told = (Told.OK, Told.UNKNOWN)
    ends = (made for made in calls if made.kind in _FINISH and made.told in told)
    return any(made.answered >= since and made.invoked <= until for made in ends)


def by_partition(operations: Iterable[Operation]) -> dict[str, list[Operation]]:
    """Return the calls of each partition; those on none are left out."""
    found: dict[str, list[Operation]] = defaultdict(list)
    for made in operations:
        if made.key:
            found[made.key].append(made)
    return found


def each_partition_is_linearizable(operations: Iterable[Operation], model: Model) -> Iterator[Violation]:
    """S5 with S2, S3, S6 to S8, S12, S22, S28, L5 in it: some order of the calls explains each answer."""
    for key, calls in by_partition(operations).items():
        try:
            stuck = explain(model, calls)
        except Undecided as error:
            yield Violation("S5", f"it took too long to decide on {error}")
            continue
        if stuck is not None:
            yield Violation("S5", _unexplained(key, stuck), (*stuck.done[-12:], stuck.next))


def _unexplained(key: str, stuck: Stuck) -> str:
    return f"partition {key!r}: no order explains the last of these calls; before it, {stuck.state}"


def fences_are_unique(operations: Iterable[Operation]) -> Iterator[Violation]:
    """S1: no fence, and no nonce, is given twice."""
    given: dict[str, Operation] = {}
    for made in operations:
        if made.kind in GRANTS and made.told is Told.OK:
            other = given.setdefault(made.result["nonce"], made)
            if other is not made:
                yield Violation("S1", "one nonce for two tenures", (other, made))


def children_come_after_their_parents(operations: Sequence[Operation]) -> Iterator[Violation]:
    """S19: no child is acquired before each of its parents was being finished."""
    for made, parent in acquired_early(operations):
        yield Violation("S19", f"acquired before its parent {parent!r} can have finished", (made,))


def nothing_is_forgotten_early(operations: Sequence[Operation]) -> Iterator[Violation]:
    """S6: what became of a write is known for the next 8 tokens, unless the item is gone."""
    for key, calls in by_partition(operations).items():
        forgotten = [made for made in calls if made.result.get("why") == FORGOTTEN and made.fence]
        if not forgotten or any(made.kind is Kind.VANISH for made in calls):
            continue
        newest = max(made.result.get("token", 0) for made in calls)
        for made in forgotten:
            if made.fence and newest < made.fence[0] + RING_SIZE:
                yield Violation("S6", f"{key!r} is at token {newest}, and a tenure is forgotten", (made,))


def pauses_hold(operations: Sequence[Operation], grace: float = 0.0) -> Iterator[Violation]:
    """X12: who asks after a source was paused acquires nothing in it, until somebody wants to resume it.

    :param grace: seconds within which the last process hears of a pause; 30 for DynamoDB.
    """
    for paused in pauses(operations):
        for made in acquired_under(paused, operations, grace):
            yield Violation("X12", "acquired while the source was paused", (paused.call, made))


def work_is_not_denied(operations: Sequence[Operation], heard_until: float = NEVER) -> Iterator[Violation]:
    """L6: nobody is told that there is nothing to do while a partition lies there that nobody has touched.

    For stores whose order is exact; an index that lags behind may not show what is new.

    :param heard_until: when the first answer was lost: since then somebody may hold a partition and not know it.
    """
    idle, held_back = list(_untouched(operations, heard_until)), list(pauses(operations))
    for made in operations:
        excused = any(paused.excuses(made) for paused in held_back)
        if made.kind is Kind.ACQUIRE and made.told is Told.NOTHING and not excused:
            for key, since, until in idle:
                if since <= made.invoked and made.answered <= until and made.key in ("", key):
                    yield Violation("L6", f"there was nothing to acquire, but partition {key!r}", (made,))


def _untouched(operations: Sequence[Operation], heard_until: float) -> Iterator[tuple[str, float, float]]:
    """Yield partitions with the time from their creation to the first call on them, where it has a length."""
    for key, calls in by_partition(operations).items():
        if any(made.given.get("parents") for made in calls):
            continue  # it waits for them
        created = [made.answered for made in calls if made.kind is Kind.CREATE and made.told is Told.OK]
        others = [made.invoked for made in calls if made.kind is not Kind.CREATE and made.told is not Told.NOTHING]
        until = min([heard_until, *others])
        if created and min(created) < until:
            yield key, min(created), until


def metrics_are_exact(operations: Iterable[Operation], process: str, counts: Mapping[str, int]) -> Iterator[Violation]:
    """S2: what a coordinator counted is what its callers were told.

    :param process: one start of a process that was not killed.
    :param counts: its coordinator's counts, by the metric's short name.
    """
    told = Counter(metric for made in operations if made.process == process for metric in _counted(made))
    for metric in (Metric.NOT_OWNED, Metric.ACQUIRED, Metric.HANDED_OVER, Metric.STOLEN):
        counted = counts.get(metric, 0)
        if counted != told[metric]:
            yield Violation("S2", f"{process} counted {metric} {counted} times, its history says {told[metric]}")


def _counted(made: Operation) -> Iterator[Metric]:
    """Yield what a coordinator counts when a caller is told this."""
    if made.told is Told.REFUSED and "for" not in made.given:
        yield Metric.NOT_OWNED
    if made.told is not Told.OK:
        return
    if made.kind in GRANTS:
        yield Metric.ACQUIRED
    if made.kind is Kind.STEAL:
        yield Metric.STOLEN
    if made.kind is Kind.HAND_OVER:
        yield Metric.HANDED_OVER


def the_global_state_grows(
    operations: Iterable[Operation], measure: Callable[[Mapping[str, Any]], float]
) -> Iterator[Violation]:
    """S10: who asks after an answer was heard, hears no older state.

    :param measure: says how far a state is; a supplier's own cursor.
    """
    answers = sorted(
        (made for made in operations if made.kind is Kind.STATE and made.told is Told.OK and made.result["state"]),
        key=lambda made: made.answered,
    )
    known, far = [made.answered for made in answers], list[tuple[float, Operation]]()
    for made in answers:
        place = measure(made.result["state"])
        far.append(max(far[-1], (place, made), key=lambda entry: entry[0]) if far else (place, made))
    for made in answers:
        earlier = bisect_left(known, made.invoked)
        if earlier and far[earlier - 1][0] > measure(made.result["state"]):
            yield Violation("S10", "the global state moved back", (far[earlier - 1][1], made))
