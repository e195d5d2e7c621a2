"""Streams of shards that split and merge, as values. Pure: no client, no store, no clock.

``plan`` says which shards get a lease next, ``holes`` whether any is missing, ``at_shard_end`` and ``may_go`` what
becomes of a shard that is read, ``shares`` and ``wish`` who should hold how many. Suppliers and drivers do what they
say. ``deaggregate`` takes records of the Kinesis Producer Library apart, a ``Checkpoint`` is how far a shard is read.
"""

from airflow_coordination.planning.shards.coverage import CONFIDENCE, Findings, holes, look
from airflow_coordination.planning.shards.lineage import InconsistentListingError, Lineage
from airflow_coordination.planning.shards.plan import NewLease, ShardEnd, at_shard_end, first, plan
from airflow_coordination.planning.shards.position import TRIM_HORIZON, Position, Start
from airflow_coordination.planning.shards.shard import MAX_HASH_KEY, HashRange, Shard
from airflow_coordination.planning.shares import LOOKS, Free, Wish, shares, wish
from airflow_coordination.protocol.hierarchy import CLEAN_AFTER, may_go
from airflow_coordination.systems.kinesis.aggregation import UserRecord, deaggregate
from airflow_coordination.systems.kinesis.checkpoint import Checkpoint

__all__ = [
    "CLEAN_AFTER",
    "CONFIDENCE",
    "LOOKS",
    "MAX_HASH_KEY",
    "TRIM_HORIZON",
    "Checkpoint",
    "Findings",
    "Free",
    "HashRange",
    "InconsistentListingError",
    "Lineage",
    "NewLease",
    "Position",
    "Shard",
    "ShardEnd",
    "Start",
    "UserRecord",
    "Wish",
    "at_shard_end",
    "deaggregate",
    "first",
    "holes",
    "look",
    "may_go",
    "plan",
    "shares",
    "wish",
]
