"""Operators that create and process partitions, let them run again, and do what happens by itself."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from airflow_coordination.operators.branches import BeginBranchOperator, PublishBranchOperator
    from airflow_coordination.operators.create_partitions import CreatePartitionsOperator
    from airflow_coordination.operators.duties import RunDutiesOperator, duty_dags
    from airflow_coordination.operators.plan_compaction import PlanCompactionOperator
    from airflow_coordination.operators.pyspark import LeasedPySparkOperator
    from airflow_coordination.operators.spark_submit import LeasedSparkSubmitOperator

__all__ = [
    "BeginBranchOperator",
    "CreatePartitionsOperator",
    "LeasedPySparkOperator",
    "LeasedSparkSubmitOperator",
    "PlanCompactionOperator",
    "PublishBranchOperator",
    "RunDutiesOperator",
    "duty_dags",
]

_HOMES = {
    "BeginBranchOperator": "branches",
    "CreatePartitionsOperator": "create_partitions",
    "LeasedPySparkOperator": "pyspark",
    "LeasedSparkSubmitOperator": "spark_submit",
    "PlanCompactionOperator": "plan_compaction",
    "PublishBranchOperator": "branches",
    "RunDutiesOperator": "duties",
    "duty_dags": "duties",
}


def __getattr__(name: str) -> object:
    """Load an operator from its module."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
