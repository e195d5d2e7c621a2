"""Compaction: small files merged beside ingest. How a dataset is compacted, and how much of the workers it may take."""

from airflow_coordination.planning.compaction.configuration import CODECS, CompactionConfig, Oversize, Straddling
from airflow_coordination.planning.compaction.slots import CompactionSlots

__all__ = [
    "CODECS",
    "CompactionConfig",
    "CompactionSlots",
    "Oversize",
    "Straddling",
]
