"""Branches as a store sees them, step by step: begun, worked in and shown, without what people call."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from airflow_coordination.leases import Lease, SourceCoordinator
from airflow_coordination.planning.intervals import interval_of
from airflow_coordination.planning.view import changing
from airflow_coordination.planning.view.view import View
from airflow_coordination.protocol.writes import Act, Action

WHY = "late data"


def begun(coordinator: SourceCoordinator, keys: Iterable[str]) -> int:
    """Begin a branch of some partitions, and return its number."""
    row, now = list(keys), coordinator.store.now()
    number = 0

    def begin(view: View) -> View:
        nonlocal number
        after, number = changing.begun(view, {"keys": row}, None, "ana", WHY, now)
        return after

    coordinator.documents.change_view(begin, "ana", WHY)
    for key in row:
        reset(coordinator, key, number)
    expected = partial(changing.complete, number=number, expected=len(row), interval=None)
    coordinator.documents.change_view(lambda view: expected(view), "ana", WHY)
    return number


def reset(coordinator: SourceCoordinator, key: str, branch: int | None) -> None:
    """Reset a partition into a branch, or out of all."""
    seen = coordinator.partition(key)
    assert seen is not None
    op = f"reset-{key}-{branch}-{seen.token}"
    act = Act(source=seen.source, key=key, op=op, action=Action.RESET, seen=seen, by="ana", why=WHY, branch=branch)
    assert coordinator.store.act(act).applied


def shown(coordinator: SourceCoordinator, number: int) -> None:
    """Publish a branch."""
    now = coordinator.store.now()
    coordinator.documents.change_view(lambda view: changing.published(view, number, now), "ana", WHY)


def rolled_back(coordinator: SourceCoordinator, number: int) -> None:
    """Roll a branch back."""
    now = coordinator.store.now()
    coordinator.documents.change_view(lambda view: changing.rolled_back(view, number, now), "ana", WHY)


def hidden(coordinator: SourceCoordinator, dataset: str, interval: str) -> None:
    """Hide an interval of a dataset."""
    said, now = interval_of("interval", interval), coordinator.store.now()
    hide = partial(changing.hidden, dataset=dataset, interval=said, by="ana", why="wrong", now=now)
    coordinator.documents.change_view(lambda view: hide(view), "ana", "wrong")


def held(coordinator: SourceCoordinator, key: str) -> Lease:
    """Return a lease of a partition that is free."""
    lease = coordinator.acquire_partition(key)
    assert lease is not None
    return lease
