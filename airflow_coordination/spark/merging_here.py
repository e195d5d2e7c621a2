"""Groups of compaction worked off in this process, with a Spark session of its own: ``compaction run``."""

from __future__ import annotations

from airflow_coordination.outputs.overlays import merged_source
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.spark.draining import Drained, drain
from airflow_coordination.spark.upkeep import compact
from airflow_coordination.systems.spark.session import session_here


def merge_here(
    store: PartitionStore,
    source: str,
    output_root: str,
    *,
    master: str = "local[*]",
    max_leases: int | None = None,
    partition_prefix: str | None = None,
) -> Drained:
    """Merge what is claimable of a source, until nothing is left or ``max_leases`` groups are done.

    :param store: the store.
    :param source: the source whose partitions have published.
    :param output_root: where merged files are published.
    :param master: of Spark.
    :param max_leases: how many groups at most; ``None`` for all.
    :param partition_prefix: the source's prefix; the store's own by default.
    :raises SettingsError: where there is no pyspark.
    """
    with session_here(master, f"compaction of {source}", "let a DAG merge") as spark:
        return drain(
            compact,
            store=store,
            source=merged_source(source),
            spark=spark,
            output_root=output_root,
            max_leases=max_leases,
            partition_prefix=partition_prefix,
        )
