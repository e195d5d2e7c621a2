"""Who still owes an answer for which records, and what became of all of them. Pure: no threads, no I/O, no Spark."""

from airflow_coordination.acknowledgments.acknowledgment_set import AcknowledgmentSet, SetStatus
from airflow_coordination.acknowledgments.checkpoints import OrderedCheckpoints, Stopped
from airflow_coordination.acknowledgments.errors import NegativeAcknowledgmentError
from airflow_coordination.acknowledgments.manager import AcknowledgmentSetManager, ManagerCounts
from airflow_coordination.values.accounting import Accounting, SinkCounts

__all__ = [
    "Accounting",
    "AcknowledgmentSet",
    "AcknowledgmentSetManager",
    "ManagerCounts",
    "NegativeAcknowledgmentError",
    "OrderedCheckpoints",
    "SetStatus",
    "SinkCounts",
    "Stopped",
]
