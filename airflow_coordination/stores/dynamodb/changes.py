"""From the rules of the operation table to DynamoDB's updates: for each write, what it sets and under which condition.

Nothing here reads. What is said here and in no rule is what DynamoDB needs beside it: the index keys, the time to live,
and a condition where another engine computes (the later of two times).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any, Final

from boto3.dynamodb.conditions import Attr, ConditionBase

from airflow_coordination.protocol.algebra import Changes, held
from airflow_coordination.protocol.follow_up import FollowUp
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.rules import (
    ACQUIRE_AS_SEEN,
    ADOPT,
    ASK,
    END,
    FOLLOWED,
    ON_PARKED,
    RENEW,
    REOPEN,
    RULES,
    STEAL,
)
from airflow_coordination.protocol.writes import (
    AcquireHinted,
    Adopt,
    Ask,
    Begin,
    End,
    OnParked,
    Renew,
    Save,
    Steal,
    Sweep,
)
from airflow_coordination.stores.dynamodb import items as it
from airflow_coordination.stores.dynamodb.expressions import UNKNOWN, DynamoWords, Path, Sum, partition
from airflow_coordination.stores.dynamodb.items import Candidate
from airflow_coordination.stores.dynamodb.keys import combination, instant
from airflow_coordination.stores.dynamodb.keys import standing as standing_of
from airflow_coordination.values.fence import Fence, Owner
from airflow_coordination.values.status import PartitionStatus, Rank

TOMBSTONE_LIFE: Final = timedelta(days=7)
"""How long a deleted partition's token and ring are kept: far longer than any message lives."""

_WORDS: Final = DynamoWords()
_ANY: Final = partition()


@dataclass(frozen=True, slots=True)
class Moment:
    """The time of one step.

    :param now: the service's.
    :param past: what ended by then has surely ended.
    """

    now: datetime
    past: datetime


@dataclass(frozen=True, slots=True)
class Change:
    """A conditional update of one partition's item.

    :param sets: attributes and their values; ``None`` removes.
    :param condition: under which it is applied.
    """

    sets: dict[str, Any]
    condition: ConditionBase


def as_seen(seen: Partition) -> ConditionBase:
    """Return condition *V*, with the status: nobody has written the chain or the status since."""
    return _in_status(seen) & Attr(it.LAST_OP).eq(seen.last_op)


def _in_status(seen: Partition) -> ConditionBase:
    same = Attr(it.STATUS).eq(str(seen.status)) & Attr(it.TOKEN).eq(seen.token)
    return same & Attr(it.DELETED).not_exists()


def _as_it_stands(row: Candidate) -> ConditionBase:
    """Return the condition that a partition which nobody holds is where a row of the index says: it has no chain."""
    return _in_status(row.seen) & Attr(it.STANDING).eq(row.standing)


def under(fence: Fence) -> Any:
    """Return condition *F* where no rule asks for it: in writes that only this store has."""
    return held(_WORDS, _ANY, SimpleNamespace(fence=fence), None)


def _attributes(before: Any, changes: Changes, source: str, now: datetime, place: str = "") -> it.Item:
    """Return what a rule's changes set: ``None`` removes. What a condition pins and stays as it is, is left out.

    :param place: where the partition stood when it was new, if it comes to stand before the new ones.
    """
    assert UNKNOWN not in changes.values()
    stays = {name for name, value in changes.items() if value == getattr(before, name, UNKNOWN)}
    fields = {name: value for name, value in changes.items() if name not in {"ring", *it.TEXTS, *it.NOT_KEPT, *stays}}
    known = {name: value for name, value in fields.items() if not isinstance(value, Path | Sum)}
    computed = {it.attribute_of(name): value for name, value in fields.items() if name not in known}
    sets = {**changes.get("ring", {}), **it.encoded(known), **_index_keys(changes, source, now, place)}
    sets |= computed
    if "owner" in changes:
        sets[it.TRY] = Owner(changes["owner"]).try_number if changes["owner"] else None
    return sets


_TIME_OF: Final = {
    PartitionStatus.UNASSIGNED: "available_at",
    PartitionStatus.ASSIGNED: "ownership_timeout",
    PartitionStatus.CLOSED: "reopen_at",
}


def _index_keys(changes: Changes, source: str, now: datetime, place: str) -> it.Item:
    """Return where the index finds the partition, as it follows from the fields after the step."""
    status = changes.get("status")
    if status is None:
        return {}
    if status is PartitionStatus.COMPLETED:
        return {it.COMBINATION: None}
    due, rank = changes[_TIME_OF[status]], changes.get("rank", Rank.NEW)
    at_its_place = status is PartitionStatus.UNASSIGNED and rank is Rank.NEW and due <= now
    standing = Path(it.PLACE) if at_its_place else standing_of(status, rank, due, place, now)
    return {it.COMBINATION: combination(source, status), it.STANDING: standing}


# Acquiring.


def acquire(write: AcquireHinted, at: Moment) -> Change:
    """Acquire what waits or is closed, if it is due and its token is the one seen."""
    free = PartitionStatus.UNASSIGNED  # or CLOSED: it has no tenure that would be ended
    before = partition(status=free, token=write.token)
    condition = ACQUIRE_AS_SEEN.condition(_WORDS, partition(status=free), write, at.past)
    changes = ACQUIRE_AS_SEEN.changes(_WORDS, before, write, at.now)
    return Change(_attributes(before, changes, write.source, at.now) | {it.EXPIRATION: None}, condition)


def take_over(seen: Partition, write: AcquireHinted, at: Moment) -> Change:
    """Acquire an expired lease: END(lost), then the new tenure."""
    before = _pinned(seen)
    due = ACQUIRE_AS_SEEN.condition(_WORDS, before, write, at.past)
    changes = ACQUIRE_AS_SEEN.changes(_WORDS, before, write, at.now)
    return Change(_attributes(before, changes, seen.source, at.now) | {it.EXPIRATION: None}, _as_it_runs(seen) & due)


def steal(seen: Partition, write: Steal, at: Moment) -> Change:
    """Take a lease that was asked for and not handed over: END(stolen), then the new tenure."""
    before = _pinned(seen)
    in_vain = STEAL.condition(_WORDS, before, write, at.past)
    changes = STEAL.changes(_WORDS, before, write, at.now)
    return Change(
        _attributes(before, changes, seen.source, at.now) | {it.EXPIRATION: None}, _as_it_runs(seen) & in_vain
    )


def _pinned(seen: Partition) -> Any:
    """Return a tenure of which :func:`_as_it_runs` is the condition; with the chain, it pins ``closedCount``."""
    return partition(
        status=PartitionStatus.ASSIGNED,
        token=seen.token,
        nonce=seen.nonce,
        last_op=seen.last_op,
        closed_count=seen.closed_count,
    )


def _as_it_runs(seen: Partition) -> ConditionBase:
    return as_seen(seen) & Attr(it.NONCE).eq(seen.nonce)


# The owner's.


def adopt(write: Adopt, at: Moment) -> Change:
    """Put a running tenure under a later try's watch."""
    changes = ADOPT.changes(_WORDS, _ANY, write, at.now)
    return Change(_attributes(_ANY, changes, write.source, at.now), ADOPT.condition(_WORDS, _ANY, write, at.past))


def renew(write: Renew, at: Moment) -> Change:
    """Hold a lease for longer. No attribute of the index changes, so it costs one write unit."""
    changes = RENEW.changes(_WORDS, _ANY, write, at.now)
    longer = Attr(it.TIMEOUT).lt(instant(changes["ownership_timeout"]))
    condition = RENEW.condition(_WORDS, _ANY, write, at.past) & longer
    return Change(_attributes(_ANY, changes, write.source, at.now), condition)


def ask(write: Ask, at: Moment) -> Change:
    """Say that another worker wants the lease."""
    changes = ASK.changes(_WORDS, _ANY, write, at.now)
    return Change(_attributes(_ANY, changes, write.source, at.now), ASK.condition(_WORDS, _ANY, write, at.past))


def confirm(fence: Fence) -> Change:
    """Note that an owner was heard of, without holding the lease for longer."""
    return Change({it.CONFIRMED: 1}, under(fence))


def of_the_chain(write: Begin | Save | End, at: Moment) -> Changes:
    """Return the fields that a write of the chain changes, by its rule."""
    return RULES[type(write)].changes(_WORDS, _before(write), write, at.now)


def _before(write: Begin | Save | End) -> Any:
    """Return what the condition of a write of the chain pins; who waits is another one's to release."""
    return partition(token=write.fence.token, nonce=write.fence.nonce, last_op=write.prev, awaited_op=None)


def holding(write: Begin | Save, at: Moment, texts: it.Item, *, longer: bool) -> Change:
    """Begin or save.

    :param texts: progress and staged blocks as they are stored.
    :param longer: extend the lease, under the condition that this does extend it.
    """
    rule = RULES[type(write)]
    changes = rule.changes(_WORDS, _ANY, write, at.now)
    condition = rule.condition(_WORDS, _ANY, write, at.past)
    if longer:
        condition &= Attr(it.TIMEOUT).lte(instant(changes["ownership_timeout"]))
    else:
        del changes["ownership_timeout"]
    return Change(_attributes(_ANY, changes, write.source, at.now) | texts, condition)


def on_parked(write: OnParked, at: Moment) -> Change:
    """Say what is to follow when the partition is parked."""
    changes = ON_PARKED.changes(_WORDS, _ANY, write, at.now)
    return Change(_attributes(_ANY, changes, write.source, at.now), ON_PARKED.condition(_WORDS, _ANY, write, at.past))


def followed(done: FollowUp, at: Moment) -> Change:
    """Take what was to follow out of a partition that is parked as the note says."""
    parked = partition(reopen_at=None)
    condition = FOLLOWED.condition(_WORDS, parked, done, at.past) & Attr(it.REOPEN).not_exists()
    return Change(_attributes(parked, FOLLOWED.changes(_WORDS, parked, done, at.now), done.source, at.now), condition)


def end(write: End, at: Moment, changes: Changes, texts: it.Item, ttl: timedelta | None) -> Change:
    """End a tenure.

    :param changes: from :func:`of_the_chain`.
    :param texts: progress and staged blocks as they are stored, where they change.
    :param ttl: how long a COMPLETED item is kept, ``None`` = for ever.
    """
    sets = _attributes(_before(write), changes, write.source, at.now) | texts
    if write.completes and ttl is not None and not write.keeps:
        sets[it.EXPIRATION] = int((at.now + ttl).timestamp())
    return Change(sets, END.condition(_WORDS, _ANY, write, at.past))


# Sweeps.


def reopen(row: Candidate, write: Sweep, at: Moment) -> Change:
    """Make a closed partition whose time has come wait, ranked "reopened"."""
    before = partition(reopen_at=row.due)
    changes = REOPEN.changes(_WORDS, before, write, at.now)
    is_due = REOPEN.condition(_WORDS, partition(status=row.seen.status), write, at.past)
    return Change(_attributes(before, changes, write.source, at.now, row.place), _as_it_stands(row) & is_due)


def promote(row: Candidate) -> Change:
    """Put a partition whose delay is over back to its old place."""
    return Change({it.STANDING: Path(it.PLACE)}, _as_it_stands(row))


def follow_renewals(seen: Partition, standing: str) -> Change:
    """Move a healthy long lease in the index to where it ends now; renewals leave it where it was."""
    same_tenure = under(Fence(seen.token, seen.nonce))
    return Change({it.STANDING: Path(it.TIMEOUT)}, same_tenure & Attr(it.STANDING).eq(standing))


# What was read whole first: people's actions, retaking, parking.


def replace(before: Partition, after: Partition, at: Moment, *, remembered: bool = False) -> Change:
    """Turn a partition that was just read into another; refused if anything about it has changed since.

    Progress and staged blocks stay or go; nothing here gives them another value.

    :param remembered: its tombstone, if that is what it turns into, stays for ever.
    """
    old, new = it.encode(before, at.now), it.encode(after, at.now)
    sets = {name: new.get(name) for name in (*old, *new) if old.get(name) != new.get(name)}
    for name, large in it.LARGE_OP.items():
        if name in sets:
            sets[large] = None
    if after.deleted or after.status is not PartitionStatus.COMPLETED:  # what was completed stays under its TTL
        goes = after.deleted and not remembered
        sets[it.EXPIRATION] = int((at.now + TOMBSTONE_LIFE).timestamp()) if goes else None
    if after.deleted:  # a parent whose children were too many to release together may stand there still
        sets |= dict.fromkeys((it.COMBINATION, it.STANDING))
    unchanged = as_seen(before)
    # What a release or a creation of children changes, and nobody else: named only where it matters.
    family = (it.WAITS_FOR,) * (before.status is not PartitionStatus.ASSIGNED)
    family += (it.AWAITED,) * (after.deleted or after.status is PartitionStatus.COMPLETED)
    for name in (it.NONCE, it.TIMEOUT, it.OWNER, it.CONFIRMED, *family):
        value = old.get(name)
        unchanged = unchanged & (Attr(name).not_exists() if value is None else Attr(name).eq(value))
    return Change(sets, unchanged)
