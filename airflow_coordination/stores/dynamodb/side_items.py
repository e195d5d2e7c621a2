"""What lies beside the partitions: head records, ended tenures, follow-ups, actions; items of their own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from functools import reduce, singledispatch
from itertools import islice
from operator import and_
from typing import Any, Final

from boto3.dynamodb.conditions import Attr, ConditionBase, Key

from airflow_coordination.protocol.beside.chunk_sums import ChunkSums, ChunkTotals
from airflow_coordination.protocol.fields import FOLLOW_UP_FIELDS, HEAD_FIELDS, Field, Kind
from airflow_coordination.protocol.follow_up import FollowUp, Forget, of_parked
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.past_tenure import PastTenure
from airflow_coordination.protocol.port import AUDITED
from airflow_coordination.protocol.results import HeadRecord
from airflow_coordination.protocol.side_writes import (
    Audit,
    CountFailure,
    EmptyHeads,
    ForgetFailures,
    PutFollowUp,
    PutHeads,
    Record,
    TenureEnded,
    of_forgetting,
    of_interval,
    retracted,
)
from airflow_coordination.protocol.writes import SetInterval
from airflow_coordination.stores.calls import Call, StoreFacts
from airflow_coordination.stores.dynamodb import changes
from airflow_coordination.stores.dynamodb.beside import audit as audited
from airflow_coordination.stores.dynamodb.beside import chunks as sums
from airflow_coordination.stores.dynamodb.children import Children
from airflow_coordination.stores.dynamodb.expressions import delete, query, update
from airflow_coordination.stores.dynamodb.index_reads import Listing
from airflow_coordination.stores.dynamodb.items import KEY, READABLE_KEY, SOURCE, Item, typed, whole_item
from airflow_coordination.stores.dynamodb.keys import (
    FOLLOW_UPS,
    FOLLOWED,
    HEADS,
    LARGE,
    MAX_TRANSACTION,
    SEPARATOR,
    belonging,
    part_key,
    parts_between,
    parts_prefix,
)
from airflow_coordination.stores.dynamodb.partitions import Partitions
from airflow_coordination.stores.dynamodb.requests import Table
from airflow_coordination.values.blocks import dump_blocks, load_blocks
from airflow_coordination.values.errors import PartitionUpdateError
from airflow_coordination.values.status import CLOSED
from airflow_coordination.values.times import Span, from_micros, to_micros, told_moment

_ABOVE_SEPARATOR: Final = "\x01"
_OTHERS: Final = tuple(field for field in HEAD_FIELDS if field.name not in ("source", "key"))
"""Fields that are no part of where the item lies."""
_ATTRIBUTES: Final = {field.name: field.stored for field in HEAD_FIELDS} | {"rows": "rows", "bytes": "bytes"}


def head_put(head: HeadRecord, now: datetime) -> dict[str, Any]:
    """Return the put of a head record; the ending's condition in the same transaction guards it."""
    item = {
        SOURCE: belonging(head.source, HEADS),
        KEY: part_key(head.key, head.dataset),
        READABLE_KEY: head.key,
        **{_ATTRIBUTES[field.name]: _encoded(field, head, now) for field in _OTHERS},
    }
    return {"Item": whole_item(item)}


def _encoded(field: Field, head: HeadRecord, now: datetime) -> Any:
    value = now if field.name == "published_at" else getattr(head, field.name)
    if isinstance(value, datetime):
        return to_micros(value)
    return dump_blocks(head.blocks) if field.kind is Kind.BLOCKS else value


_DECODERS: Final[dict[Kind, Callable[[Any], Any]]] = {
    Kind.TEXT: str,
    Kind.NUMBER: int,
    Kind.TIME: lambda micros: from_micros(int(micros)),
    Kind.BLOCKS: load_blocks,
}


def _head(source: str, item: Item) -> HeadRecord:
    stored = [field for field in _OTHERS if not field.optional or _ATTRIBUTES[field.name] in item]
    values = {field.name: _DECODERS[field.kind](item[_ATTRIBUTES[field.name]]) for field in stored}
    return HeadRecord(source=source, key=item[READABLE_KEY], **values)


def heads(
    table: Table,
    source: str,
    dataset: str | None,
    key: str | None,
    after: str | None,
    limit: int,
    after_dataset: str | None,
    within: Span | None = None,
) -> list[HeadRecord]:
    """Return head records by key in byte order, then by dataset."""
    condition: ConditionBase = Key(SOURCE).eq(belonging(source, HEADS))
    last = part_key(after, after_dataset) if after and after_dataset is not None else None
    if key is not None:
        first, end = parts_between(key)
        condition &= Key(KEY).between(last if last and after == key else first, end)
    elif last:
        condition &= Key(KEY).gt(last)
    elif after:
        condition &= Key(KEY).gte(parts_prefix(after).removesuffix(SEPARATOR) + _ABOVE_SEPARATOR)
    found = _read(table, source, query(condition, kept=_kept(dataset, within)))
    seen = (after, after_dataset)  # a range of sort keys includes its bounds
    return list(islice((head for head in found if (head.key, head.dataset) != seen), limit))


def _kept(dataset: str | None, within: Span | None) -> ConditionBase | None:
    """Return what the engine looks for among the items that it reads, if anything."""
    wanted: list[ConditionBase] = [] if dataset is None else [Attr("dataset").eq(dataset)]
    if within is not None:
        start, end = Attr(_ATTRIBUTES["interval_start"]), Attr(_ATTRIBUTES["interval_end"])
        common = start.lt(to_micros(within.end)) & end.gt(to_micros(within.start))
        wanted.append(start.not_exists() | common)
    return reduce(and_, wanted) if wanted else None


def _read(table: Table, source: str, arguments: dict[str, Any]) -> Iterator[HeadRecord]:
    call = Call("read head records", writes=False)
    for page in table.pages(call, None, ConsistentRead=True, **arguments):
        yield from (_head(source, item) for item in page)


_PAGE: Final = 1_000


class Parkings:
    """Knows what is to follow the parkings in one table.

    :param partitions: the items.
    """

    def __init__(self, partitions: Partitions) -> None:
        self._partitions, self._listing = partitions, Listing(partitions)
        self._announced: set[str] = set()

    def announce(self, call: Call, source: str) -> None:
        """Say of a source that something may be to follow: before that is said of a partition, once in a process."""
        if source not in self._announced:
            table = self._partitions.table
            table.send(call, "put_item", TableName=table.name, Item=whole_item(_announcement(source)))
            self._announced.add(source)

    def notes(self, source: str, key: str | None) -> list[FollowUp]:
        """Return what is to follow parkings, of one partition if it is named; in no order."""
        call = Call("read the follow-ups", key or "", writes=False)
        found: Iterable[Partition]
        if key is not None:
            one = self._partitions.bare(call, source, key)
            found = () if one is None else (one,)
        else:
            found = self._parked(call, source)
        return [note for each in found if (note := of_parked(each)) is not None]

    def clear(self, done: FollowUp) -> None:
        """Take what was to follow out of a partition that is parked as the note says."""
        change = changes.followed(done, self._partitions.moment())
        self._partitions.change(Call("clear a follow-up", done.key), done.source, done.key, change)

    def forget(self, note: FollowUp, audit: list[dict[str, Any]]) -> None:
        """Take it away undone.

        :param audit: what the same transaction writes about who does it.
        """
        call, change = Call("forget a follow-up", note.key), changes.followed(note, self._partitions.moment())
        self._partitions.change(call, note.source, note.key, change, audit)

    def _parked(self, call: Call, source: str) -> Iterator[Partition]:
        after: str | None = None
        while self._is_announced(call, source):
            page = self._listing.page(call, source, CLOSED, after, _PAGE, parked=True)
            yield from page
            if len(page) < _PAGE:
                return
            after = page[-1].key

    def _is_announced(self, call: Call, source: str) -> bool:
        if source not in self._announced and self._partitions.table.get(call, typed(_announcement(source))):
            self._announced.add(source)
        return source in self._announced


def _announcement(source: str) -> Item:
    return {SOURCE: belonging(source, LARGE), KEY: FOLLOWED}


_STORED: Final = {field.name: field.stored for field in FOLLOW_UP_FIELDS}


def follow_up_item(note: FollowUp, now: datetime) -> dict[str, Any]:
    """Return the item of a note that is written now."""
    return {
        **note_key(note),
        READABLE_KEY: note.key,
        _STORED["token"]: note.token,
        _STORED["op"]: note.op,
        _STORED["text"]: note.text,
        _STORED["noted_at"]: to_micros(now),
    }


def follow_ups(
    table: Table, parkings: Parkings, source: str, key: str | None, after: FollowUp | None, limit: int
) -> list[FollowUp]:
    """Return notes of what follows endings and parkings, by key in byte order, then by token and operation."""
    behind = "" if after is None else note_key(after)[KEY]
    parked = [note for note in parkings.notes(source, key) if note_key(note)[KEY] > behind]
    notes = [*_beside_endings(table, source, key, after, limit), *parked]
    return sorted(notes, key=lambda note: note_key(note)[KEY])[:limit] if parked else notes


def _beside_endings(table: Table, source: str, key: str | None, after: FollowUp | None, limit: int) -> list[FollowUp]:
    first, end = parts_between(key) if key is not None else (None, None)
    condition: ConditionBase = Key(SOURCE).eq(belonging(source, FOLLOW_UPS))
    last = note_key(after)[KEY] if after is not None else None
    if first is not None:
        condition &= Key(KEY).between(max(first, last or first), end)
    elif last is not None:
        condition &= Key(KEY).gt(last)
    call = Call("read the follow-ups", key or "", writes=False)
    pages = table.pages(call, limit + (last is not None), ConsistentRead=True, **query(condition))
    found = (_decoded(source, item) for page in pages for item in page if item[KEY] != last)
    return list(islice(found, limit))


def clear_follow_up(table: Table, parkings: Parkings, done: FollowUp) -> None:
    """Take a note away; one that is not there any more is no error."""
    call, place = Call("clear a follow-up", done.key), {"TableName": table.name, "Key": typed(note_key(done))}
    if "Attributes" not in table.send(call, "delete_item", ReturnValues="ALL_OLD", **place):
        parkings.clear(done)


def note_key(note: FollowUp) -> dict[str, str]:
    """Return where a note lies."""
    return {
        SOURCE: belonging(note.source, FOLLOW_UPS),
        KEY: part_key(note.key, f"{note.token:019}|{note.op}"),
    }


def _decoded(source: str, item: Item) -> FollowUp:
    """Return the note in an item; one that is none says nothing, and is named by whoever reads what it says."""
    token, noted_at = item.get(_STORED["token"], 0), item.get(_STORED["noted_at"])
    said = [str(item.get(name, "")) for name in (READABLE_KEY, _STORED["op"], _STORED["text"])]
    key, op, text = said
    return FollowUp(source, key, int(token), op, text, told_moment(noted_at))


_ITSELF: Final = 3
"""Items that every action writes: the partition, and two of the audit."""


def beside(table: Table, records: Iterable[Record], now: datetime) -> list[dict[str, Any]]:
    """Return the writes of some records, as a transaction takes them.

    :raises PartitionUpdateError: when they are too many for one transaction.
    """
    return [{"Put": put} for record in records for put in _puts(record, table, now)]


@singledispatch
def _puts(record: Any, table: Table, now: datetime) -> Iterator[dict[str, Any]]:
    raise TypeError(f"not a record of the protocol: {record!r}")


@_puts.register
def _put_heads(record: PutHeads, table: Table, now: datetime) -> Iterator[dict[str, Any]]:
    yield from (head_put(head, now) for head in record.heads)


@_puts.register
def _empty_heads(record: EmptyHeads, table: Table, now: datetime) -> Iterator[dict[str, Any]]:
    """Yield what a retract empties. While the partition is as its condition says, no ending moves a head record."""
    yield from (head_put(retracted(head), now) for head in _meant(table, record))


def _meant(table: Table, record: EmptyHeads) -> list[HeadRecord]:
    """Return the head records that are emptied: all of the partition, or those that are named."""
    if record.datasets is None:
        found = heads(table, record.source, None, record.key, None, MAX_TRANSACTION, None)
        _check_emptied(record, len(found))
        return found
    named = set(record.datasets)
    _check_emptied(record, len(named))
    place = belonging(record.source, HEADS)
    keys = [typed({SOURCE: place, KEY: part_key(record.key, dataset)}) for dataset in named]
    items = table.get_many(Call("read head records", writes=False), keys) if keys else ()
    return [_head(record.source, item) for item in items]


def _check_emptied(record: EmptyHeads, number: int) -> None:
    """Refuse to empty more head records than go into one transaction.

    :raises PartitionUpdateError: naming the ways out.
    """
    most = MAX_TRANSACTION - _ITSELF
    if number <= most:
        return
    if record.datasets is not None:
        problem = f"{number} head records are named, and DynamoDB writes {MAX_TRANSACTION} items at once"
        raise PartitionUpdateError("retract", record.key, f"{problem}. Name {most} at a time")
    problem = f"it has published to more than {most} datasets"
    remedy = f"DynamoDB writes {MAX_TRANSACTION} items at once. Reset it, and let what it publishes anew replace them"
    raise PartitionUpdateError("retract", record.key, f"{problem}, and {remedy}")


@_puts.register
def _counted(record: CountFailure | ForgetFailures, table: Table, now: datetime) -> Iterator[dict[str, Any]]:
    """Yield nothing: all endings of a source would wait for each other at one item (:mod:`.failures`)."""
    yield from ()


@_puts.register
def _tenure_ended(record: TenureEnded, table: Table, now: datetime) -> Iterator[dict[str, Any]]:
    """Yield nothing: an item of its own would cost each ending a request and a write unit."""
    yield from ()


@_puts.register
def _audit(record: Audit, table: Table, now: datetime) -> Iterator[dict[str, Any]]:
    yield from audited.puts(record, now)


@_puts.register
def _put_follow_up(record: PutFollowUp, table: Table, now: datetime) -> Iterator[dict[str, Any]]:
    yield {"Item": whole_item(follow_up_item(record.follow_up, now))}


def set_interval(table: Table, write: SetInterval) -> bool:
    """Give a head record an interval if it is as it was seen; return whether it was."""
    start, end = _ATTRIBUTES["interval_start"], _ATTRIBUTES["interval_end"]
    place = {SOURCE: belonging(write.source, HEADS), KEY: part_key(write.key, write.dataset)}
    seen: ConditionBase = Attr(_ATTRIBUTES["op"]).eq(write.seen_op)
    seen &= _is(Attr(start), write.seen_start) & _is(Attr(end), write.seen_end)
    change = update(place, {start: to_micros(write.start), end: to_micros(write.end)}, seen)
    others = beside(table, [of_interval(write)], table.clock.now())
    return table.transact(Call("set an interval", write.key), [{"Update": change}, *others]) is None


def _is(attribute: Attr, moment: datetime | None) -> ConditionBase:
    return attribute.not_exists() if moment is None else attribute.eq(to_micros(moment))


def forget_follow_up(table: Table, parkings: Parkings, write: Forget) -> None:
    """Take a note away; one that is not there any more refuses the transaction, and nothing is audited."""
    audit = beside(table, [of_forgetting(write)], table.clock.now())
    gone = {"Delete": delete(note_key(write.note), Attr(KEY).exists())}
    if table.transact(Call("forget a follow-up", write.note.key), [gone, *audit]) is not None:
        parkings.forget(write.note, audit)


class Beside(ABC):
    """Items under identifiers that no source can have."""

    table: Table
    _partitions: Partitions
    _parkings: Parkings

    @abstractmethod
    def _ready(self) -> StoreFacts:
        """Return the store's facts, having checked its schema once in this process."""

    def heads(
        self,
        source: str,
        dataset: str | None = None,
        key: str | None = None,
        after: str | None = None,
        limit: int = 1000,
        after_dataset: str | None = None,
        *,
        within: Span | None = None,
    ) -> Sequence[HeadRecord]:
        """Return head records by key in byte order, then by dataset."""
        self._ready()
        return heads(self.table, source, dataset, key, after, limit, after_dataset, within)

    def history(self, source: str, key: str | None = None, limit: int = 1000) -> Sequence[PastTenure]:
        """Return the newest tenures that have ended, the newest first; none without ``history_retention``."""
        self._ready()
        return self._partitions.history.rows(source, key, limit)

    def follow_ups(self, source: str, key: str | None, after: FollowUp | None, limit: int) -> Sequence[FollowUp]:
        """Return notes of what follows endings, by key in byte order, then by token and operation."""
        self._ready()
        return follow_ups(self.table, self._parkings, source, key, after, limit)

    def children(self, source: str, parent: str, after: str | None, limit: int) -> Sequence[Partition]:
        """Return partitions that have ``parent`` among their parents, by key in byte order."""
        self._ready()
        return Children(self._partitions).page(source, parent, after, limit)

    def clear_follow_up(self, done: FollowUp) -> None:
        """Take a note of what follows an ending away."""
        self._ready()
        clear_follow_up(self.table, self._parkings, done)

    def set_interval(self, write: SetInterval) -> bool:
        """Give a head record an interval if it is as it was seen, audited in the same transaction."""
        self._ready()
        return set_interval(self.table, write)

    def forget_follow_up(self, write: Forget) -> None:
        """Take a note away undone, audited in the same transaction."""
        self._ready()
        forget_follow_up(self.table, self._parkings, write)

    def put_chunks(self, source: str, rows: Sequence[ChunkSums]) -> None:
        """Write sums of chunks over those that are there."""
        self._ready()
        sums.put_chunks(self.table, source, rows)

    def chunks(
        self, source: str, dataset: str | None = None, after: tuple[str, str] | None = None, limit: int = 1000
    ) -> Sequence[ChunkSums]:
        """Return sums by dataset in byte order, then the newest chunk first."""
        self._ready()
        return sums.chunks(self.table, source, dataset, after, limit)

    def chunk_totals(self, source: str, dataset: str | None = None) -> Sequence[ChunkTotals]:
        """Return what the newest of each dataset add up to, by dataset and state."""
        self._ready()
        return sums.chunk_totals(self.table, source, dataset)

    def forget_chunks(self, source: str, dataset: str) -> None:
        """Remove all sums of a dataset."""
        self._ready()
        sums.forget_chunks(self.table, source, dataset)

    def audit(
        self, source: str, key: str | None, limit: int = AUDITED, before: str | None = None
    ) -> Sequence[dict[str, Any]]:
        """Return the people's actions on a partition, or the newest of a source, oldest first."""
        self._ready()
        return audited.audit(self.table, source, key, limit, before)
