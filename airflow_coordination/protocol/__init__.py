"""The lease protocol as values and rules: partition, writes, the operation table, and what a store must do.

Here are the names that the author of a store needs (docs/how-to/own-store.md).
"""

from airflow_coordination.protocol.beside.parts import StoreParts
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.protocol.results import (
    Answer,
    Created,
    FusedAnswer,
    HeadRecord,
    Outlook,
    PauseAnswer,
    Swept,
)
from airflow_coordination.protocol.writes import (
    AcquireHinted,
    AcquireNext,
    Act,
    Action,
    Adopt,
    Ask,
    Begin,
    Create,
    End,
    NewPartition,
    Place,
    ReleaseChild,
    Renew,
    Retake,
    Save,
    SetPause,
    Steal,
    Sweep,
    Tenancy,
)

__all__ = [
    "AcquireHinted",
    "AcquireNext",
    "Act",
    "Action",
    "Adopt",
    "Answer",
    "Ask",
    "Begin",
    "Create",
    "Created",
    "End",
    "FusedAnswer",
    "HeadRecord",
    "NewPartition",
    "Outlook",
    "Partition",
    "PartitionStore",
    "PauseAnswer",
    "Place",
    "ReleaseChild",
    "Renew",
    "Retake",
    "Save",
    "SetPause",
    "Steal",
    "StoreParts",
    "Sweep",
    "Swept",
    "Tenancy",
]
