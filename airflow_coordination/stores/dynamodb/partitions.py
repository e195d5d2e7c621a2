"""Reading and changing the items of partitions: what all steps have in common."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Final

from airflow_coordination.protocol.partition import Partition
from airflow_coordination.stores.calls import MIGRATE, Call
from airflow_coordination.stores.dynamodb import items as it
from airflow_coordination.stores.dynamodb.changes import Change, Moment
from airflow_coordination.stores.dynamodb.expressions import update
from airflow_coordination.stores.dynamodb.history import History
from airflow_coordination.stores.dynamodb.index_keys import instant
from airflow_coordination.stores.dynamodb.large_values import whole
from airflow_coordination.stores.dynamodb.old_endings import OldEndings
from airflow_coordination.stores.dynamodb.requests import Refusal, Table
from airflow_coordination.values.errors import SchemaVersionError, StoreUnavailableError
from airflow_coordination.values.input_errors import shown


class Partitions:
    """The partitions' items in one table.

    :param table: where they are.
    :param history: remembers the tenures that steps end; nothing by default.
    """

    BATCH: Final = 100
    """DynamoDB: keys in one BatchGetItem."""

    def __init__(self, table: Table, history: History | None = None) -> None:
        self.table = table
        self.history = history or History(table, None)
        self.old_endings = OldEndings(table)

    def moment(self) -> Moment:
        """Return the time of a step that begins now."""
        return Moment(self.table.clock.now(), self.table.clock.surely_past())

    def get(self, call: Call, source: str, key: str) -> Partition | None:
        """Return one partition, tombstones included, with every acknowledged write in it."""
        item = self._read(call, source, key)
        return self._with_endings(call, item) if item else None

    def _with_endings(self, call: Call, item: it.Item) -> Partition:
        """Return the partition that an item holds, with what lies beside it.

        The endings last: where a save has replaced a text meanwhile, the item is read once more.
        """
        return it.decode(self.old_endings.recalled(call, self._with_texts(call, item)))

    def bare(self, call: Call, source: str, key: str) -> Partition | None:
        """Return one partition without what only its owner's work needs, its old endings too.

        What is corrupt of that is met by whoever acquires the partition, not by all who look for something to acquire.
        """
        item = self._read(call, source, key)
        return self._bare(item) if item else None

    def _bare(self, item: it.Item) -> Partition:
        check_ours(self.table.description, item)
        return it.decode({name: value for name, value in item.items() if name != it.STAGED})

    def _read(self, call: Call, source: str, key: str) -> it.Item | None:
        return self.table.get(call, it.typed(it.lease_key(source, key)))

    def decode(self, call: Call, item: it.Item) -> Partition:
        """Return the partition that an item holds, its large texts included; not the endings that lie beside it.

        :raises SchemaVersionError: when something else than this package has written the item.
        """
        return it.decode(self._with_texts(call, item))

    def _with_texts(self, call: Call, item: it.Item) -> it.Item:
        check_ours(self.table.description, item)
        source, key = item[it.SOURCE], it.key_of(item)
        return whole(self.table, call, item, key, lambda: self._read(call, source, key)) or item

    def some(self, call: Call, source: str, keys: Sequence[str]) -> dict[str, Partition]:
        """Return those of at most ``BATCH`` partitions that are there, tombstones included, large texts left out."""
        wanted = [it.typed(it.lease_key(source, key)) for key in dict.fromkeys(keys)]
        found: dict[str, Partition] = {}
        for item in self.table.get_many(call, wanted) if wanted else ():
            found[it.key_of(item)] = self._bare(item)
        return found

    def refused(self, call: Call, refusal: Refusal, *, texts: bool = True) -> Partition | None:
        """Return the partition as it was when it refused.

        :param texts: read its large texts and its old endings, too; without them it is good for everything but its
            owner's work.
        """
        if refusal.item is None or texts:
            return self._with_endings(call, refusal.item) if refusal.item else None
        return self._bare(refusal.item)

    def change(
        self, call: Call, source: str, key: str, change: Change, others: Iterable[dict[str, Any]] = ()
    ) -> Refusal | None:
        """Apply a change, with others in one transaction if there are any; return the refusal, if it was refused.

        :raises PartitionUpdateError: when not the partition refuses, but another item of the transaction.
        """
        refusal = self.change_together(call, source, key, change, others)
        if refusal is not None and refusal.index:
            raise call.refused(f"{self.table.description}: write {refusal.index + 1} of a transaction was refused")
        return refusal

    def change_together(
        self, call: Call, source: str, key: str, change: Change, others: Iterable[dict[str, Any]] = ()
    ) -> Refusal | None:
        """Apply a change, with others in one transaction; a refusal with an index above 0 is another item's."""
        arguments = update(it.lease_key(source, key), change.sets, change.condition)
        together = list(others)
        if together:
            return self.table.transact(call, [{"Update": arguments}, *together])
        answer = self.table.attempt(call, "update_item", **arguments)
        return answer if isinstance(answer, Refusal) else None

    def change_and_see(
        self, call: Call, source: str, key: str, change: Change, *, before: bool = False
    ) -> Partition | Refusal:
        """Apply a change; return the partition as it is after it, or as it was before, its large texts included.

        :raises OutcomeUnknownError: also when it was applied, and the partition's large texts cannot be read.
        """
        item = self.change_item(call, source, key, change, before=before)
        if isinstance(item, Refusal):
            return item
        try:
            return self.decode(call, item)
        except StoreUnavailableError as error:
            raise call.lost(error.reason) from error

    def change_item(
        self, call: Call, source: str, key: str, change: Change, *, before: bool = False
    ) -> it.Item | Refusal:
        """Apply a change; return the partition's item as it is after it, or as it was before."""
        arguments = update(it.lease_key(source, key), change.sets, change.condition)
        values = "ALL_OLD" if before else "ALL_NEW"
        answer = self.table.attempt(call, "update_item", ReturnValues=values, **arguments)
        return answer if isinstance(answer, Refusal) else it.plain(answer["Attributes"])

    def expired(self, call: Call, leases: Sequence[Partition], past: datetime) -> set[str]:
        """Return the keys of those leases that have ended by now, read so that every renewal is seen."""
        ended: set[str] = set()
        for first in range(0, len(leases), self.BATCH):
            wanted = [it.typed(it.lease_key(p.source, p.key)) for p in leases[first : first + self.BATCH]]
            tokens = {p.key: p.token for p in leases}
            for item in self.table.get_many(call, wanted):
                check_ours(self.table.description, item)
                key = it.key_of(item)
                same = int(item[it.TOKEN]) == tokens[key] and it.TIMEOUT in item
                if same and item[it.TIMEOUT] <= instant(past):
                    ended.add(key)
        return ended


def check_ours(description: str, item: it.Item) -> None:
    """Refuse an item that Data Prepper, or somebody's hand, has written.

    :raises SchemaVersionError: naming it.
    """
    if it.is_ours(item):
        return
    owner = item.get(it.OWNER)
    problem = (
        f"item {shown(item.get(it.KEY))} of {shown(item.get(it.SOURCE))} was written by Data Prepper, or by hand, "
        f"{f'under the name of {shown(owner)}, ' if owner else ''}after this package took the table over. Two programs "
        "with different rules on one table lose work"
    )
    raise SchemaVersionError(description, problem, f"Stop Data Prepper's pipelines on it. {MIGRATE}")
