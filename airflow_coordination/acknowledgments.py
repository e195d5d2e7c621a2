"""Acknowledgments: who still owes an answer for which records, and what became of them. No threads, I/O, Spark."""

from airflow_coordination.delivery.acknowledgment_set import AcknowledgmentSet, NegativeAcknowledgmentError, SetStatus
from airflow_coordination.delivery.checkpoints import OrderedCheckpoints, Stopped
from airflow_coordination.delivery.manager import AcknowledgmentSetManager, ManagerCounts
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
