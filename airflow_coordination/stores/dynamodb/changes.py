"""The protocol's table in the words of DynamoDB: for each write, what it sets and under which condition.

Nothing here reads. What an update cannot compute, the text of an ending in the ring, is made from what the
condition pins: the fence and the last operation as they were seen (*V* in ``protocol.md``).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from boto3.dynamodb.conditions import Attr, ConditionBase

from airflow_coordination.leases.clock import to_micros
from airflow_coordination.leases.partition import RING_SIZE, Fence, Outcome, Partition, PartitionStatus, Rank
from airflow_coordination.leases.steps import ring_entry
from airflow_coordination.leases.writes import Adopt, Begin, ChainWrite, End, Renew, Save, Tenancy
from airflow_coordination.stores.dynamodb import items as it
from airflow_coordination.stores.dynamodb.expressions import Path, Sum
from airflow_coordination.stores.dynamodb.places import closed as closed_standing
from airflow_coordination.stores.dynamodb.places import combination, instant, waiting

TOMBSTONE_LIFE: Final = timedelta(days=7)
"""How long a deleted partition's token and ring are kept: far longer than any message lives."""

U, A, C, D = PartitionStatus.UNASSIGNED, PartitionStatus.ASSIGNED, PartitionStatus.CLOSED, PartitionStatus.COMPLETED


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


def held_under(fence: Fence) -> ConditionBase:
    """Return condition *F*."""
    return Attr(it.STATUS).eq(str(A)) & Attr(it.TOKEN).eq(fence.token) & Attr(it.NONCE).eq(fence.nonce)


def as_seen(seen: Partition) -> ConditionBase:
    """Return condition *V*, with the status: nobody has written the chain or the status since."""
    same = Attr(it.STATUS).eq(str(seen.status)) & Attr(it.TOKEN).eq(seen.token) & Attr(it.LAST_OP).eq(seen.last_op)
    return same & Attr(it.DELETED).not_exists()


def slot(token: int) -> str:
    """Return the ring's attribute for a tenure."""
    return it.RING[token % RING_SIZE]


def _ended(
    seen: Partition, outcome: Outcome, op: str, after: PartitionStatus, closed: int, at: Moment
) -> dict[str, Any]:
    """Return END(outcome): the ring's entry, and a partition that nobody owns, in the status ``after``.

    :param seen: the tenure, as the condition pins it.
    :param closed: ``closedCount`` after.
    """
    return {
        it.STATUS: str(after),
        slot(seen.token): ring_entry(seen, outcome, op, at.now, after, closed),
        it.LAST_OP: op,
        it.OWNER: None,
        it.TRY: None,
        it.TIMEOUT: None,
        it.CONFIRMED: 0,
        it.UPDATED: to_micros(at.now),
    }


# -- acquiring ------------------------------------------------------------------------------------------------------


def _granted(source: str, token: int, tenancy: Tenancy, at: Moment) -> dict[str, Any]:
    until = instant(at.now + tenancy.timeout)
    return {
        it.STATUS: str(A),
        it.TOKEN: token + 1,
        it.NONCE: tenancy.op,
        it.LAST_OP: tenancy.op,
        it.OWNER: tenancy.owner.text,
        it.TRY: tenancy.owner.try_number,
        it.TIMEOUT: until,
        it.COMBINATION: combination(source, A),
        it.STANDING: until,
        it.CONFIRMED: 0,
        it.MAY_LOSE: tenancy.max_lost_leases - 1,
        it.UPDATED: to_micros(at.now),
        it.REOPEN: None,
        it.AVAILABLE: None,
        it.EXPIRATION: None,
    }


def acquire(source: str, token: int, tenancy: Tenancy, at: Moment) -> Change:
    """Acquire what waits or is closed, if it is due and its token is the one seen."""
    due = Attr(it.AVAILABLE).not_exists() | Attr(it.AVAILABLE).lte(to_micros(at.past))
    waits = Attr(it.STATUS).eq(str(U)) & Attr(it.DELETED).not_exists() & due
    closed = Attr(it.STATUS).eq(str(C)) & Attr(it.REOPEN).lte(instant(at.past))
    return Change(_granted(source, token, tenancy, at), Attr(it.TOKEN).eq(token) & (waits | closed))


def _lost_leases(seen: Partition) -> Sum:
    """Return the count after this tenure is lost: a tenure without any owner write counts nothing."""
    return Sum(it.LOST, 1) if seen.last_op != seen.nonce else Sum(it.LOST, Path(it.CONFIRMED))


def _may_be_lost(own: int) -> ConditionBase:
    """Return whether one more lost lease parks nothing, by the lease's limit, by ``own`` where it has none."""
    by_own = Attr(it.MAY_LOSE).not_exists() & Attr(it.LOST).lt(own - 1)
    return Attr(it.LOST).lt(Attr(it.MAY_LOSE)) | by_own


def _expired(seen: Partition, at: Moment) -> ConditionBase:
    return as_seen(seen) & Attr(it.NONCE).eq(seen.nonce) & Attr(it.TIMEOUT).lte(instant(at.past))


def take_over(seen: Partition, tenancy: Tenancy, at: Moment) -> Change:
    """Acquire an expired lease: END(lost), then the new tenure."""
    entry = ring_entry(seen, Outcome.LOST, tenancy.op, at.now, A, seen.closed_count)
    sets = _granted(seen.source, seen.token, tenancy, at) | {slot(seen.token): entry, it.LOST: _lost_leases(seen)}
    return Change(sets, _expired(seen, at) & _may_be_lost(tenancy.max_lost_leases))


# -- owners ---------------------------------------------------------------------------------------------------------


def adopt(write: Adopt) -> Change:
    """Put a running tenure under a later try's watch."""
    sets = {it.OWNER: write.owner.text, it.TRY: write.owner.try_number}
    return Change(sets, held_under(write.fence) & Attr(it.TRY).lte(write.owner.try_number))


def renew(write: Renew, at: Moment) -> Change:
    """Hold a lease for longer. No attribute of the index changes, so it costs one write unit."""
    until = instant(at.now + write.timeout)
    return Change({it.TIMEOUT: until, it.CONFIRMED: 1}, held_under(write.fence) & Attr(it.TIMEOUT).lt(until))


def confirm(fence: Fence) -> Change:
    """Note that an owner was heard of, without holding the lease for longer."""
    return Change({it.CONFIRMED: 1}, held_under(fence))


def _chained(write: ChainWrite) -> ConditionBase:
    return held_under(write.fence) & Attr(it.LAST_OP).eq(write.prev)


def holding(write: Begin | Save, at: Moment, texts: dict[str, Any], *, longer: bool) -> Change:
    """Begin or save.

    :param texts: progress and staged blocks as they are stored.
    :param longer: extend the lease, under the condition that this does extend it.
    """
    sets = {it.LAST_OP: write.op, it.UPDATED: to_micros(at.now), **texts}
    if not longer:
        return Change(sets, _chained(write))
    until = instant(at.now + write.timeout)
    return Change(sets | {it.TIMEOUT: until}, _chained(write) & Attr(it.TIMEOUT).lte(until))


def end(write: End, at: Moment, texts: dict[str, Any], ttl: timedelta | None) -> Change:
    """End a tenure.

    :param texts: progress and staged blocks as they are stored, where they change.
    :param ttl: how long a COMPLETED item is kept, ``None`` = for ever.
    """
    due = None if write.delay is None else at.now + write.delay
    before = Partition(
        source=write.source,
        key=write.key,
        status=A,
        token=write.fence.token,
        nonce=write.fence.nonce,
        last_op=write.prev,
    )
    sets = {
        **_ended(before, write.outcome, write.op, write.status, write.closed_count, at),
        it.CLOSED_COUNT: write.closed_count,
        it.FAILURES: write.failures,
        it.LOST: write.lost_leases,
        it.ERROR: write.last_error,
        it.RANK: int(Rank.NEW),
        it.GENERATION: write.generation,
        **_where(write, due, at),
        **texts,
    }
    if write.status is D and ttl is not None:
        sets[it.EXPIRATION] = int((at.now + ttl).timestamp())
    return Change(sets, _chained(write))


def _where(write: End, due: datetime | None, at: Moment) -> dict[str, Any]:
    """Return what says when an ended partition can be had again, and where it stands until then."""
    if write.status is D:
        return {it.COMBINATION: None, it.REOPEN: None, it.AVAILABLE: None}
    where: dict[str, Any] = {it.COMBINATION: combination(write.source, write.status)}
    if write.status is C:
        standing = closed_standing(due)
        return where | {it.STANDING: standing, it.REOPEN: standing if due else None, it.AVAILABLE: None}
    if due is None or due <= at.now:
        return where | {it.STANDING: Path(it.PLACE), it.REOPEN: None, it.AVAILABLE: None}
    delayed = {it.STANDING: waiting(Rank.NEW, due, "", at.now), it.AVAILABLE: to_micros(due)}
    return where | delayed | {it.REOPEN: None}


# -- sweeps ---------------------------------------------------------------------------------------------------------


def reclaim(seen: Partition, op: str, place: str, max_lost_leases: int, ended: datetime, at: Moment) -> Change:
    """End an expired lease; the partition waits first in line.

    :param ended: when it ended, which decides its order among the crashed ones.
    """
    sets = {
        **_ended(seen, Outcome.LOST, op, U, seen.closed_count, at),
        it.LOST: _lost_leases(seen),
        it.RANK: int(Rank.CRASHED),
        it.AVAILABLE: to_micros(ended),
        it.COMBINATION: combination(seen.source, U),
        it.STANDING: waiting(Rank.CRASHED, ended, place, at.now),
    }
    exactly = Attr(it.TIMEOUT).eq(instant(ended)) & _may_be_lost(max_lost_leases)
    return Change(sets, _expired(seen, at) & exactly)


def reopen(seen: Partition, op: str, place: str, due: datetime, at: Moment) -> Change:
    """Make a closed partition whose time has come wait, ranked "reopened"."""
    sets = {
        it.STATUS: str(U),
        it.RANK: int(Rank.REOPENED),
        it.AVAILABLE: to_micros(due),
        it.REOPEN: None,
        it.LAST_OP: op,
        it.UPDATED: to_micros(at.now),
        it.COMBINATION: combination(seen.source, U),
        it.STANDING: waiting(Rank.REOPENED, due, place, at.now),
    }
    return Change(sets, as_seen(seen) & Attr(it.REOPEN).lte(instant(at.past)))


def promote(seen: Partition, standing: str) -> Change:
    """Put a partition whose delay is over back to its old place."""
    return Change({it.STANDING: Path(it.PLACE)}, as_seen(seen) & Attr(it.STANDING).eq(standing))


def follow_renewals(seen: Partition, standing: str) -> Change:
    """Move a healthy long lease in the index to where it ends now; renewals leave it where it was."""
    return Change(
        {it.STANDING: Path(it.TIMEOUT)}, held_under(Fence(seen.token, seen.nonce)) & Attr(it.STANDING).eq(standing)
    )


# -- what was read whole first: people's actions, retaking, parking ---------------------------------------------------


def replace(before: Partition, after: Partition, at: Moment) -> Change:
    """Turn a partition that was just read into another; refused if anything about it has changed since.

    Progress and staged blocks stay or go; nothing here gives them another value.
    """
    old, new = it.encode(before, at.now), it.encode(after, at.now)
    sets = {name: new.get(name) for name in (*old, *new) if old.get(name) != new.get(name)}
    for name, large in it.LARGE_OP.items():
        if name in sets:
            sets[large] = None
    if after.status is not D:  # what was completed stays under its TTL
        sets[it.EXPIRATION] = int((at.now + TOMBSTONE_LIFE).timestamp()) if after.deleted else None
    unchanged = as_seen(before)
    for name in (it.NONCE, it.TIMEOUT, it.OWNER, it.CONFIRMED):
        value = old.get(name)
        unchanged = unchanged & (Attr(name).not_exists() if value is None else Attr(name).eq(value))
    return Change(sets, unchanged)
