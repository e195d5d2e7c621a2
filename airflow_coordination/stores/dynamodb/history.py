"""The history: a row for each tenure, if it is asked for; best effort (decision 46).

The row is written right after the step that ended the tenure, by a request of its own. A process that dies in between,
or a service that does not answer, leaves a tenure without its row; the partition's ring still knows the last eight
endings. A row is never wrong: it is written only for an ending that was applied.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, Final

from boto3.dynamodb.conditions import Attr, Key

from airflow_coordination.protocol.beside.ended_sums import EndedTenure
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.past_tenure import PastTenure, ended_by
from airflow_coordination.protocol.past_tenure import Remembered as Row
from airflow_coordination.protocol.rules import END
from airflow_coordination.protocol.side_writes import Record, TenureEnded
from airflow_coordination.protocol.writes import Adopt, Begin, End
from airflow_coordination.stores.calls import Call
from airflow_coordination.stores.dynamodb import items as it
from airflow_coordination.stores.dynamodb.expressions import put, query
from airflow_coordination.stores.dynamodb.keys import HISTORY, INDEX, belonging, newest_first, part_key, parts_between
from airflow_coordination.stores.dynamodb.requests import Remembered, Table
from airflow_coordination.values.accounting import left_by_end
from airflow_coordination.values.fence import RING_SIZE, Ending
from airflow_coordination.values.input_errors import CoordinationError
from airflow_coordination.values.names import holds_partitions
from airflow_coordination.values.times import from_micros, to_micros

log = logging.getLogger(__name__)

_ROW: Final = it.PLACE
"""Holds the row as JSON: one of the attributes that the index repeats, from which a source's rows are read."""


class History:
    """Writes and reads the rows of one table.

    What a process has seen of a tenure's owner when that began, it remembers until the end: an owner's ending finds
    neither owner nor start in the item, and costs no request more to learn them.

    :param table: where they are.
    :param retention: how long a row is kept; ``None`` = none is written.
    """

    def __init__(self, table: Table, retention: timedelta | None) -> None:
        self._table, self._retention = table, retention
        self._tenures = Remembered()

    def began(self, held: Partition) -> None:
        """Remember whose a tenure is, since when it is known here, and what its driver has said of itself."""
        self._remember(held.source, held.nonce, held.owner, held.owner_details, held.acquired_at)

    def begun(self, write: Begin, held: Partition) -> None:
        """Remember the same of a tenure whose driver has begun."""
        self._remember(held.source, held.nonce, held.owner, write.owner_details)

    def adopted(self, write: Adopt) -> None:
        """Remember that a later try watches over a tenure."""
        _, _, details = self._tenures.get(write.source, write.fence.nonce) or _NOBODY
        self._remember(write.source, write.fence.nonce, write.owner.text, details)

    def ended(self, before: Partition, after: Partition) -> None:
        """Write the row of the tenure that a step has ended, if it has ended one."""
        if row := ended_by(before, after, TenureEnded()):
            self._write(row, before.nonce)

    def ended_by_owner(self, write: End, sets: dict[str, Any]) -> None:
        """Write the row of a tenure that its owner has ended."""
        entry, record = sets[it.RING[write.fence.token % RING_SIZE]], _tenure_in(END.records(write))
        row = Row(write.source, write.key, entry, None, None, None, record, left_by_end(write))
        self._write(row, write.fence.nonce)

    def rows(self, source: str, key: str | None, limit: int) -> Sequence[PastTenure]:
        """Return the newest tenures that have ended, the newest first, of one partition if it is named."""
        if self._retention is None:
            return ()
        call, place = Call("read the history", key or "", writes=False), belonging(source, HISTORY)
        if key is None:
            arguments = {"IndexName": INDEX, **query(Key(it.COMBINATION).eq(place))}
        else:
            condition = Key(it.SOURCE).eq(place) & Key(it.KEY).between(*parts_between(key))
            arguments = {"ConsistentRead": True, **query(condition)}
        found = (item for page in self._table.pages(call, limit, **arguments) for item in page)
        return [_decoded(source, item) for item in islice(found, limit)]

    def between(self, source: str, since: datetime, until: datetime, limit: int) -> Sequence[EndedTenure]:
        """Return the first endings from a time up to another one, the oldest first: a range of the index, backwards."""
        first, last = (f"{newest_first(to_micros(moment) - 1)}|" for moment in (until, since))
        condition = Key(it.COMBINATION).eq(belonging(source, HISTORY)) & Key(it.STANDING).between(first, last)
        call = Call("read what ended", source, writes=False)
        pages = self._table.pages(call, limit, IndexName=INDEX, ScanIndexForward=False, **query(condition))
        return [_counted(item) for item in islice((item for page in pages for item in page), limit)]

    def _remember(
        self, source: str, nonce: str, owner: str | None, details: str | None, since: datetime | None = None
    ) -> None:
        """Remember a tenure for its end, where rows are kept; its start stays as it is known."""
        if self._retention is None:
            return
        _, known, _ = self._tenures.get(source, nonce) or _NOBODY
        self._tenures.put(source, nonce, (owner, since or known, details))

    def _write(self, row: Row, nonce: str) -> None:
        if self._retention is None or not holds_partitions(row.source):
            return
        call = Call("remember a tenure", row.key)
        try:
            self._table.attempt(call, "put_item", **put(self._item(row, nonce, self._retention), _ABSENT))
        except CoordinationError as error:  # the ending counts, and the ring has it
            log.warning("The tenure %s of partition %r has no row in the history: %s", nonce, row.key, error)

    def _item(self, row: Row, nonce: str, retention: timedelta) -> dict[str, Any]:
        """Return a row as an item; what it begins with sorts the newest first."""
        owner, since, details = self._tenures.get(row.source, nonce) or _NOBODY
        ending, place = Ending.parse(row.entry), belonging(row.source, HISTORY)
        assert ending.at is not None, "the ring holds it"
        began = row.acquired_at or since
        content = {
            "entry": row.entry,
            "owner": row.owner or owner,
            "details": row.owner_details or details,
            # What this process takes for the service's time may go back a little when it hears a better one.
            "since": it.micros(min(began, ending.at) if began else None),
            "error": row.record.error,
            "rows": row.record.rows,
            "bytes": row.record.bytes,
            "accounting": row.accounting_text,
        }
        return {
            it.SOURCE: place,
            it.KEY: part_key(row.key, f"{newest_first(ending.fence.token)}|{nonce}"),
            it.READABLE_KEY: row.key,
            it.LAST_OP: ending.op,  # says that the item is ours
            it.COMBINATION: place,
            it.STANDING: f"{newest_first(to_micros(ending.at))}|{newest_first(ending.fence.token)}",
            it.EXPIRATION: int((ending.at + retention).timestamp()),
            _ROW: json.dumps({name: value for name, value in content.items() if value}, separators=(",", ":")),
        }


_NOBODY: Final = (None, None, None)
"""Owner, start and details of a tenure that this process has not seen begin."""
_ABSENT: Final = Attr(it.KEY).not_exists()
"""Whoever ended a tenure has written its row: it stays, in a restored copy, too."""


def _tenure_in(records: Iterable[Record]) -> TenureEnded:
    return next((each for each in records if isinstance(each, TenureEnded)), TenureEnded())


def _counted(item: it.Item) -> EndedTenure:
    said = json.loads(it.text(item, _ROW))
    ending = Ending.parse(said["entry"])
    assert ending.at is not None, "the ring holds it"
    return EndedTenure(ending.at, ending.outcome, said.get("rows", 0), said.get("bytes", 0))


def _decoded(source: str, item: it.Item) -> PastTenure:
    said = json.loads(it.text(item, _ROW))
    since = from_micros(said["since"]) if "since" in said else None
    record = TenureEnded(said.get("error"), said.get("rows", 0), said.get("bytes", 0))
    owner, details, totals = said.get("owner"), said.get("details"), said.get("accounting")
    return Row(source, it.key_of(item), said["entry"], owner, details, since, record, totals).past_tenure()
