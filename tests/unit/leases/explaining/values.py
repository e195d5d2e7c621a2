"""Values to explain: a partition, and what is known beside it."""

from datetime import timedelta

from airflow_coordination.leases import Block, HeadRecord, Owner, Partition, PartitionStatus
from airflow_coordination.leases.explaining.facts import SourceFacts
from airflow_coordination.testing.clock import START as NOW
from airflow_coordination.values.fence import RING_SIZE
from airflow_coordination.values.times import to_micros

HOUR = timedelta(hours=1)
OWNER = Owner.of_task("worker-1", "my dag", "scheduled__2026-01-01T00:00:00+00:00", "process", 3, 2).text


def facts(key="2013-01", **known):
    limits = {"max_failures": 5, "max_lost_leases": 5}
    return SourceFacts(key=key, source="flights", **(limits | known))


def partition(status, **fields):
    return Partition(source="flights|PARTITION", key="2013-01", status=PartitionStatus(status), **fields)


def ring(outcome, at=NOW - HOUR, token=7, after="UNASSIGNED"):
    """Return a ring with one ending."""
    entry = f"{token}|n|{outcome}|op|last|{after}|0|{to_micros(at)}"
    return tuple(entry if place == token % RING_SIZE else None for place in range(RING_SIZE))


def head(dataset, rows, blocks=True):
    held = (Block(dataset, "a/b", "0" * 64, rows, 1),) if blocks else ()
    return HeadRecord("flights|PARTITION", dataset, "2013-01", held, rows, 1, "g", "op", 7)
