"""Blocks, immutable manifests, the files readers follow, and the collector of what nobody follows.

Pure Python and fsspec: no Spark, no Airflow, no database client.
"""

from airflow_coordination.outputs.attempts import Attempt, OpenBlock
from airflow_coordination.outputs.collector import Collected, collect
from airflow_coordination.outputs.manifests import DataFile, Manifest, Reference
from airflow_coordination.outputs.published import index_outputs, published_accounting, published_manifests
from airflow_coordination.systems.objects.storage import OutputError
from airflow_coordination.values.blocks import Block

__all__ = [
    "Attempt",
    "Block",
    "Collected",
    "DataFile",
    "Manifest",
    "OpenBlock",
    "OutputError",
    "Reference",
    "collect",
    "index_outputs",
    "published_accounting",
    "published_manifests",
]
