"""The part of the store that has what lies beside the partitions: head records, ended tenures, follow-ups, actions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from airflow_coordination.protocol.follow_up import FollowUp, Forget
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.past_tenure import PastTenure
from airflow_coordination.protocol.results import HeadRecord
from airflow_coordination.stores.dynamodb import follow_ups, heads, records
from airflow_coordination.stores.dynamodb.children import Children
from airflow_coordination.stores.dynamodb.forgetting import forget_follow_up
from airflow_coordination.stores.dynamodb.parkings import Parkings
from airflow_coordination.stores.dynamodb.partitions import Partitions
from airflow_coordination.stores.dynamodb.requests import Table
from airflow_coordination.stores.schema_version import StoreFacts


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
    ) -> Sequence[HeadRecord]:
        """Return head records by key in byte order, then by dataset."""
        self._ready()
        return heads.heads(self.table, source, dataset, key, after, limit, after_dataset)

    def history(self, source: str, key: str | None = None, limit: int = 1000) -> Sequence[PastTenure]:
        """Return the newest tenures that have ended, the newest first; none without ``history_retention``."""
        self._ready()
        return self._partitions.history.rows(source, key, limit)

    def follow_ups(self, source: str, key: str | None, after: FollowUp | None, limit: int) -> Sequence[FollowUp]:
        """Return notes of what follows endings, by key in byte order, then by token and operation."""
        self._ready()
        return follow_ups.follow_ups(self.table, self._parkings, source, key, after, limit)

    def children(self, source: str, parent: str, after: str | None, limit: int) -> Sequence[Partition]:
        """Return partitions that have ``parent`` among their parents, by key in byte order."""
        self._ready()
        return Children(self._partitions).page(source, parent, after, limit)

    def clear_follow_up(self, done: FollowUp) -> None:
        """Take a note of what follows an ending away."""
        self._ready()
        follow_ups.clear_follow_up(self.table, self._parkings, done)

    def forget_follow_up(self, write: Forget) -> None:
        """Take a note away undone, audited in the same transaction."""
        self._ready()
        forget_follow_up(self.table, self._parkings, write)

    def audit(self, source: str, key: str | None) -> Sequence[dict[str, Any]]:
        """Return the people's actions on a partition, or the newest of a source, oldest first."""
        self._ready()
        return records.audit(self.table, source, key)
