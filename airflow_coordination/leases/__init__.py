"""Who may do what to a source: the coordinator and its parts. Pure Python, standard library only, no I/O of its own."""

from airflow_coordination.leases.cleaning import Cleaning
from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.leases.counting import Counting
from airflow_coordination.leases.creation import Supplying
from airflow_coordination.leases.explaining.explanation import Explanation, Reason
from airflow_coordination.leases.follow_ups import FollowUps
from airflow_coordination.leases.handover import HandOver
from airflow_coordination.leases.heartbeat import Heartbeat
from airflow_coordination.leases.lease import Lease
from airflow_coordination.leases.looking import Looking
from airflow_coordination.leases.moving import Moving
from airflow_coordination.leases.people import Pausing, People
from airflow_coordination.leases.supply import Supplier, SupplierRun
from airflow_coordination.leases.tries import Tries
from airflow_coordination.leases.viewing.branches import BranchRules
from airflow_coordination.leases.workers import Workers
from airflow_coordination.protocol.metrics import CountingMetrics, Metric, Metrics
from airflow_coordination.protocol.partition import Checkpoint, Partition, PartitionIdentifier
from airflow_coordination.protocol.results import Created, HeadRecord, Outlook, Swept
from airflow_coordination.values.blocks import Block
from airflow_coordination.values.errors import (
    BranchError,
    DeploymentError,
    ForkedChildError,
    NoProgressError,
    OutcomeUnknownError,
    PartitionNotFoundError,
    PartitionNotOwnedError,
    PartitionUpdateError,
    SchemaVersionError,
    StoreMismatchError,
    StoreSlowError,
    StoreThrottledError,
    StoreUnavailableError,
)
from airflow_coordination.values.fence import Ending, Fence, Owner, Place
from airflow_coordination.values.input_errors import (
    CoordinationError,
    InvalidInputError,
    InvalidKeyError,
    ParentCycleError,
    PayloadError,
    ProgressStateError,
    SettingsError,
    UnknownParentError,
)
from airflow_coordination.values.names import compose_source
from airflow_coordination.values.settings import Settings
from airflow_coordination.values.status import Outcome, PartitionStatus

__all__ = [
    "Block",
    "BranchError",
    "BranchRules",
    "Checkpoint",
    "Cleaning",
    "CoordinationError",
    "Counting",
    "CountingMetrics",
    "Created",
    "DeploymentError",
    "Ending",
    "Explanation",
    "Fence",
    "FollowUps",
    "ForkedChildError",
    "HandOver",
    "HeadRecord",
    "Heartbeat",
    "InvalidInputError",
    "InvalidKeyError",
    "Lease",
    "Looking",
    "Metric",
    "Metrics",
    "Moving",
    "NoProgressError",
    "Outcome",
    "OutcomeUnknownError",
    "Outlook",
    "Owner",
    "ParentCycleError",
    "Partition",
    "PartitionIdentifier",
    "PartitionNotFoundError",
    "PartitionNotOwnedError",
    "PartitionStatus",
    "PartitionUpdateError",
    "Pausing",
    "PayloadError",
    "People",
    "Place",
    "ProgressStateError",
    "Reason",
    "SchemaVersionError",
    "Settings",
    "SettingsError",
    "SourceCoordinator",
    "StoreMismatchError",
    "StoreSlowError",
    "StoreThrottledError",
    "StoreUnavailableError",
    "Supplier",
    "SupplierRun",
    "Supplying",
    "Swept",
    "Tries",
    "UnknownParentError",
    "Workers",
    "compose_source",
]
