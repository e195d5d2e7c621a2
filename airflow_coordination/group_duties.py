"""Duties: what happens by itself for all sources of a store. What one of your own is given, and what it returns."""

from airflow_coordination.duties.groups.marks import Marks, digest
from airflow_coordination.duties.groups.round import Cluster, GroupDuty, Ran, Round
from airflow_coordination.duties.groups.running import Group, GroupRun, GroupRunner
from airflow_coordination.duties.groups.state import GroupState, Result
from airflow_coordination.planning.duties.configuration import DynamicConfig
from airflow_coordination.planning.duties.groups import Duties, DutyGroup

__all__ = [
    "Cluster",
    "Duties",
    "DutyGroup",
    "DynamicConfig",
    "Group",
    "GroupDuty",
    "GroupRun",
    "GroupRunner",
    "GroupState",
    "Marks",
    "Ran",
    "Result",
    "Round",
    "digest",
]
