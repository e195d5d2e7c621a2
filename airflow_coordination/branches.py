"""Branches: partitions run again aside, are looked at, and shown together, or not at all."""

from airflow_coordination.duties.branches.beginning import Begun, Meant, begin, look
from airflow_coordination.duties.branches.look import BranchLook, KeyLook, look_at
from airflow_coordination.duties.branches.retiring import Retired, retire
from airflow_coordination.duties.branches.selection import Selection
from airflow_coordination.duties.branches.showing import (
    BranchStatus,
    DatasetChange,
    Missing,
    Preview,
    RolledBack,
    finalize,
    foresee_roll_back,
    preview,
    publish,
    roll_back,
    status,
)

__all__ = [
    "Begun",
    "BranchLook",
    "BranchStatus",
    "DatasetChange",
    "KeyLook",
    "Meant",
    "Missing",
    "Preview",
    "Retired",
    "RolledBack",
    "Selection",
    "begin",
    "finalize",
    "foresee_roll_back",
    "look",
    "look_at",
    "preview",
    "publish",
    "retire",
    "roll_back",
    "status",
]
