"""The reasons why a partition is not moving: one small function each, and the one that knows which it is. All pure.

A reason more is a function more, and a line in :func:`_reason_of`.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Final

from airflow_coordination.leases.explaining.explanation import Explanation, Reason
from airflow_coordination.leases.explaining.facts import LONG, MOST_HEADS, PersonsAct, Signs, SourceFacts
from airflow_coordination.leases.explaining.parents import blocked
from airflow_coordination.leases.explaining.signs import is_silent, last_sign
from airflow_coordination.leases.explaining.wording import (
    ahead,
    as_sentence,
    counted,
    holder,
    moment,
    past,
    records_told,
    told,
)
from airflow_coordination.protocol import remedies
from airflow_coordination.protocol.algebra import PLAIN, phantom
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.results import HeadRecord
from airflow_coordination.protocol.steps import reclaim
from airflow_coordination.protocol.writes import Action, Sweep
from airflow_coordination.values.fence import Ending
from airflow_coordination.values.input_errors import shown
from airflow_coordination.values.names import split_dataset
from airflow_coordination.values.status import Outcome, PartitionStatus

NAMED_DATASETS: Final = 5
_LOOKED_AFTER: Final = "The next sweep of a sensor or the next acquirer {} it; if it stays so, neither of them runs."
_ITS_TURN: Final = "A task or driver that asks this source for work acquires it when its turn comes."
_IS_IT_ON: Final = (
    "A task or driver that asks this source for work acquires it: is its DAG paused, or without such a task?"
)
_FOLLOWED_UP: Final = "The next run of the task that creates the source's partitions does it."
_HELD_BACK: Final = "Nothing of the source is acquired until {}: it was {}."
_Explained = Callable[[Partition, SourceFacts, datetime], Explanation]


def explain(partition: Partition | None, facts: SourceFacts, now: datetime) -> Explanation:
    """Return why a partition is not moving, what happens next by itself, and what to type.

    :param partition: as the store has it, tombstones included; ``None`` when there is none of the key.
    :param facts: what is known beside it.
    :param now: by the store's clock.
    """
    if partition is None:
        return absent(facts)
    reason = _reason_of(partition, now)
    if not facts.pause.paused or reason not in (waiting, due, delayed, reopens, expired):
        return reason(partition, facts, now)
    if reason in (waiting, due):
        return paused(partition, facts, now)
    later = reason(partition, facts, now)
    end = "it is resumed" if facts.pause.unending else "that ends, or it is resumed"
    return replace(later, next=f"{later.next} {_HELD_BACK.format(end, facts.pause)}")


def _reason_of(partition: Partition, now: datetime) -> _Explained:
    if partition.deleted:
        return deleted
    if partition.status is PartitionStatus.COMPLETED:
        return done
    if partition.status is PartitionStatus.ASSIGNED:
        return expired if _has_come(partition.ownership_timeout, now) else held
    if partition.blocked:
        return blocked
    if partition.status is PartitionStatus.UNASSIGNED:
        return delayed if partition.available_at and not _has_come(partition.available_at, now) else waiting
    if partition.reopen_at is None:
        return parked
    return due if _has_come(partition.reopen_at, now) else reopens


def reopens(partition: Partition, facts: SourceFacts, now: datetime) -> Explanation:
    """Explain what is CLOSED until a time ahead."""
    at = _known(partition.reopen_at)
    closed = counted(partition.closed_count, "time")
    return Explanation(
        facts.key,
        Reason.REOPENS,
        f"{_name(facts)} was closed {closed} and reopens at {ahead(at, now)}.",
        f"At {moment(at)} it can be acquired again.",
        _command("reopen", facts),
    )


def due(partition: Partition, facts: SourceFacts, now: datetime) -> Explanation:
    """Explain what is CLOSED, and its time has come."""
    since = past(_known(partition.reopen_at), now)
    sentence = f"{_name(facts)} is due since {since}, and waits for a sweep or an acquirer{_unseen(facts, now)}."
    return Explanation(facts.key, Reason.DUE, sentence, _LOOKED_AFTER.format("opens"), _of_the_source("status", facts))


def delayed(partition: Partition, facts: SourceFacts, now: datetime) -> Explanation:
    """Explain what waits for a time ahead, after a failure or because its owner gave it up so."""
    at = _known(partition.available_at)
    newest = _newest(partition)
    if newest is not None and newest.outcome is Outcome.FAILED:
        # Whoever holds the lease judges by a maximum of their own: one that is reached here is not theirs.
        limit = facts.max_failures if partition.max_failures is None else partition.max_failures
        most = f" of {limit}" if partition.failures < limit else ""
        why = f" after failure {partition.failures}{most}: {_error(partition)}"
    else:
        why = " because its owner gave it up until then" if newest and newest.outcome is Outcome.GIVEN_UP else ""
    return Explanation(
        facts.key,
        Reason.DELAYED,
        as_sentence(f"{_name(facts)} is delayed until {ahead(at, now)}{why}"),
        f"At {moment(at)} it can be acquired again.",
        _command("reopen", facts),
    )


def waiting(partition: Partition, facts: SourceFacts, now: datetime) -> Explanation:
    """Explain what can be acquired now: how many go before it."""
    place = facts.place
    if place is None:
        where = "its place in the order is not known"
    elif place.before:
        where = f"behind {'' if place.exact else 'at least '}{counted(place.before, 'other')} in the order"
    else:
        where = "first in the order"
    said = f"{_name(facts)} can be acquired, {where} (class: {partition.rank.name.lower()})"
    signs, status = facts.signs, _of_the_source("status", facts)
    if signs is None or not _is_long_ago(signs.last, now):
        return Explanation(facts.key, Reason.WAITING, f"{said}.", _ITS_TURN, status)
    nobody = f"nobody has acquired anything in its source {_since(signs, now)}"
    if signs.at_work:
        busy = counted(signs.at_work, "partition is", "partitions are")
        return Explanation(facts.key, Reason.WAITING, f"{said}; {nobody}, and {busy} held.", _ITS_TURN, status)
    return Explanation(facts.key, Reason.IDLE, f"{said}, but {nobody}, and nobody holds any of it.", _IS_IT_ON, status)


def paused(partition: Partition, facts: SourceFacts, now: datetime) -> Explanation:
    """Explain what could be acquired now, if nobody had paused the source."""
    sentence = as_sentence(f"{_name(facts)} could be acquired, but its source was {facts.pause}")
    until = facts.pause.until
    then = None if until is None else f"At {moment(until)} the pause ends by itself; then it can be acquired."
    return Explanation(facts.key, Reason.PAUSED, sentence, then, _of_the_source("resume", facts))


def _is_long_ago(at: datetime | None, now: datetime) -> bool:
    return at is None or now - at >= LONG


def _since(signs: Signs, now: datetime) -> str:
    return "as far back as its history goes" if signs.last is None else f"since {past(signs.last, now)}"


def _unseen(facts: SourceFacts, now: datetime) -> str:
    """Return that nobody looks after the source, where that is known."""
    signs = facts.signs
    if signs is None or signs.at_work or not _is_long_ago(signs.last, now):
        return ""
    return f"; no sensor or acquirer was seen in its source {_since(signs, now)}"


def held(partition: Partition, facts: SourceFacts, now: datetime) -> Explanation:
    """Explain what an owner works on."""
    if partition.is_late(facts.grace, now):
        return late(partition, facts, now)
    if is_silent(partition, now):
        return silent(partition, facts, now)
    sentence = f"{_name(facts)} is held by {holder(partition.owner)}"
    if phantom(PLAIN, partition):
        sentence += "; its owner has not renewed the lease nor written anything yet"
    until = partition.ownership_timeout
    if until is None:
        sentence += "; its lease has no end"
        return Explanation(facts.key, Reason.HELD, f"{sentence}.", None, _command("release", facts))
    if partition.wanted:
        steal = _known(partition.wanted_until)
        may = f"from {moment(steal)} on it may take it" if steal > now else f"since {past(steal, now)} it may take it"
        sentence += f"; {holder(partition.wanted)} has asked for it, and {may}"
    return Explanation(
        facts.key,
        Reason.HELD,
        f"{sentence}; its lease ends at {ahead(until, now)} unless it is renewed.",
        f"The owner renews the lease or ends it; otherwise others can acquire the partition from {moment(until)} on.",
    )


def silent(partition: Partition, facts: SourceFacts, now: datetime) -> Explanation:
    """Explain what an owner holds that has missed several renewals, while its lease keeps all others off."""
    until, sign = _known(partition.ownership_timeout), _known(last_sign(partition))
    said = f"{_name(facts)} is held by {holder(partition.owner)}, which gives no sign since {past(sign, now)}"
    sentence = f"{said}; its lease ends at {ahead(until, now)}, and nobody else gets the partition before."
    then = f"Others can acquire it from {moment(until)} on, or at once when a person releases it: do so if its task"
    following = f"{then} does not run any more. What it still writes then does not count."
    return Explanation(facts.key, Reason.HELD, sentence, following, _command("release", facts))


def late(partition: Partition, facts: SourceFacts, now: datetime) -> Explanation:
    """Explain what an owner has not renewed in time, while others keep off."""
    until = _known(partition.ownership_timeout)
    silent = f"which should have renewed the lease by {past(until - facts.grace, now)}"
    said = f"{_name(facts)} is held by {holder(partition.owner)}, {silent}; it is in grace until {ahead(until, now)}."
    then = "The owner goes on by renewing the lease, and its task's next try takes the partition at once"
    others = f"{then}; others can acquire it from {moment(until)} on."
    return Explanation(facts.key, Reason.LATE, said, others, _command("release", facts))


def expired(partition: Partition, facts: SourceFacts, now: datetime) -> Explanation:
    """Explain what has lost its owner, and whether the next sweep parks it."""
    since = past(_known(partition.ownership_timeout), now)
    sentence = f"{_name(facts)} was held by {holder(partition.owner)}; the lease ended at {since} without a word"
    sentence += f"{_unseen(facts, now)}."
    sweep = Sweep(source=partition.source, op="", limit=1, max_lost_leases=facts.max_lost_leases)
    after = reclaim(sweep, partition, now)
    if after is not None and after.parked:
        lost = counted(after.lost_leases, "lost lease")
        then = f"The next sweep of a sensor parks it, after {lost} in a row"
        return Explanation(facts.key, Reason.EXPIRED, sentence, f"{then}.", _of_the_source("status", facts))
    return Explanation(
        facts.key, Reason.EXPIRED, sentence, _LOOKED_AFTER.format("takes"), _of_the_source("status", facts)
    )


def parked(partition: Partition, facts: SourceFacts, now: datetime) -> Explanation:
    """Explain what waits for a person: who or what has parked it."""
    newest, act = _newest(partition), facts.act
    if act is not None and act.action == Action.PARK and _is_later(act, newest):
        why = f"{f'since {past(act.at, now)} ' if act.at else ''}by {_person(act)}"
    elif newest is not None and newest.outcome is Outcome.FAILED:
        why = f"after {counted(partition.failures, 'failure')} in a row: {_error(partition)}"
    elif newest is not None and newest.outcome is Outcome.LOST:
        lost = counted(partition.lost_leases, "lost lease")
        why = f"after {lost} in a row: its owners vanished without a word"
    else:
        why = f"and waits for a person: {_error(partition)}"
    sentence = as_sentence(f"{_name(facts)} is parked {why}")
    if partition.on_parked is not None:
        sentence += " What is to follow at its source (on_parked) is not done yet."
    return Explanation(facts.key, Reason.PARKED, sentence, None, _command("reopen", facts))


def done(partition: Partition, facts: SourceFacts, now: datetime) -> Explanation:
    """Explain what is COMPLETED, by what it has published."""
    newest = _newest(partition)
    at = newest.at if newest and newest.outcome in (Outcome.COMPLETED, Outcome.CLOSED) else partition.updated_at
    since = f" since {past(at, now)}" if at else ""
    records = records_told(partition)
    said = f"{_name(facts)} is done{since}: {_published(facts)}{f'; records: {records}' if records else ''}."
    if not facts.follow_ups:
        return Explanation(facts.key, Reason.DONE, said)
    left = f"{said} What was to follow at its source (then=) is not done yet."
    return Explanation(facts.key, Reason.DONE, left, _FOLLOWED_UP, _command("finish-actions", facts))


def deleted(partition: Partition, facts: SourceFacts, now: datetime) -> Explanation:
    """Explain a tombstone: a person's, or that of a parent which had finished and was cleaned up."""
    act, cleaned_up = facts.act, partition.cleaned_up
    meant = Action.CLEAN_UP if cleaned_up else Action.DELETE
    by = f" by {_person(act)}" if act is not None and act.action == meant else ""
    at = f" at {past(partition.updated_at, now)}" if partition.updated_at else ""
    went = "had finished, and was cleaned up" if cleaned_up else "was deleted"
    then = "It is created anew when a supplier names it again."
    parent = "Partitions that name it as a parent need not wait for it. " if cleaned_up else ""
    return Explanation(facts.key, Reason.DELETED, as_sentence(f"{_name(facts)} {went}{at}{by}"), f"{parent}{then}")


def absent(facts: SourceFacts) -> Explanation:
    """Explain that there is none of the key, by the keys that are next to it."""
    sentence = f"There is no partition {shown(facts.key)} in source {shown(facts.source)}"
    if facts.nearest:
        near = f"the nearest keys: {', '.join(map(shown, facts.nearest))}"
        [alike] = difflib.get_close_matches(facts.key, facts.nearest, n=1, cutoff=0)
        command = remedies.command("explain", facts.source, alike, prefix=facts.prefix, shell=facts.shell)
    else:
        near, command = "no other key was found near it", _of_the_source("list", facts)
    then = "It is created when a supplier names it."
    return Explanation(facts.key, Reason.ABSENT, f"{sentence}; {near}.", then, command)


def _has_come(at: datetime | None, now: datetime) -> bool:
    return at is not None and at <= now


def _known(at: datetime | None) -> datetime:
    assert at is not None  # the dispatcher has looked
    return at


def _newest(partition: Partition) -> Ending | None:
    endings = partition.endings
    return endings[-1] if endings else None


def _is_later(act: PersonsAct, ending: Ending | None) -> bool:
    """Return whether a person acted after the newest ending; one that a person caused is theirs."""
    if ending is None or ending.outcome is Outcome.RELEASED:
        return True
    return act.at is not None and ending.at is not None and act.at >= ending.at


def _person(act: PersonsAct) -> str:
    return f"{shown(act.by)}, who said {shown(act.why)}"


def _error(partition: Partition) -> str:
    return told(partition.last_error, "without an error")


def _published(facts: SourceFacts) -> str:
    heads = [head for head in facts.heads if head.blocks]
    if not heads:
        return "what it published was taken back" if facts.heads else "it has published nothing"
    named = [f"{counted(head.rows, 'row')} in dataset {_dataset(head)}" for head in heads[:NAMED_DATASETS]]
    if (more := len(heads) - NAMED_DATASETS) > 0:
        named.append(f"and {'at least ' if len(facts.heads) == MOST_HEADS else ''}{counted(more, 'dataset')} more")
    return ", ".join(named)


def _dataset(head: HeadRecord) -> str:
    branch, dataset = split_dataset(head.dataset)
    return shown(dataset) if branch is None else f"{shown(dataset)} (in branch {branch})"


def _name(facts: SourceFacts) -> str:
    return f"Partition {shown(facts.key)}"


def _command(name: str, facts: SourceFacts) -> str:
    return remedies.command(name, facts.source, facts.key, prefix=facts.prefix, shell=facts.shell)


def _of_the_source(name: str, facts: SourceFacts) -> str:
    return remedies.command(name, facts.source, prefix=facts.prefix, shell=facts.shell)
