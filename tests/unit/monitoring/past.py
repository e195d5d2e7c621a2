"""Ended tenures and held partitions, made up for what is concluded from them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from airflow_coordination.leases import Owner
from airflow_coordination.monitoring.owners import Holding
from airflow_coordination.protocol.past_tenure import PastTenure
from airflow_coordination.values.status import Outcome, PartitionStatus

NOW = datetime(2026, 1, 2, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def task(index: int, attempt: int = 1) -> str:
    return Owner.of_task("host", "flights", "manual__1", "process", index, attempt).text


def ended(
    ago: timedelta, took: timedelta | None = MINUTE, outcome: Outcome = Outcome.COMPLETED, **more: Any
) -> PastTenure:
    at = NOW - ago
    after = PartitionStatus.COMPLETED if outcome is Outcome.COMPLETED else PartitionStatus.UNASSIGNED
    row = {"key": f"k{ago}", "status_after": after, "owner": task(0), "token": 1, "nonce": "n", "op": "o"} | more
    began = None if took is None else at - took
    return PastTenure(
        source="flights|PARTITION", ended_at=at, acquired_at=began, outcome=outcome, closed_count=0, **row
    )


def held(key: str, since: timedelta | None, owner: str, left: timedelta = MINUTE) -> Holding:
    began = None if since is None else NOW - since
    return Holding(
        key=key, owner=owner, fence=None, since=began, wrote_at=began, heard=True, expires_at=NOW + left, left=left,
        facts={},
    )  # fmt: skip
