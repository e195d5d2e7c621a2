"""A store that hands every call to another one: the base of stores that count, crash or lose answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any, TypeVar

from airflow_coordination.protocol.follow_up import FollowUp, Forget
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.past_tenure import PastTenure
from airflow_coordination.protocol.pause import Pause
from airflow_coordination.protocol.port import (
    PartitionStore,
    counts_failures,
    follows_parking,
    holds_back,
    pause_holds_after,
)
from airflow_coordination.protocol.refreshing import Refresh
from airflow_coordination.protocol.results import Answer, Created, FusedAnswer, HeadRecord, Outlook, PauseAnswer, Swept
from airflow_coordination.protocol.writes import (
    AcquireNext,
    Act,
    Create,
    End,
    FencedWrite,
    KnownAcquisition,
    Place,
    SetPause,
    Sweep,
)
from airflow_coordination.values.status import PartitionStatus

T = TypeVar("T")


class ForwardingStore:
    """Forwards each call to ``store`` through :meth:`forward`, which subclasses override.

    :param store: the store that does the work.
    """

    def __init__(self, store: PartitionStore) -> None:
        self.store = store
        self.partition_prefix = store.partition_prefix

    def forward(self, name: str, call: Callable[[], T]) -> T:
        """Carry out one call.

        :param name: the method's name in the port.
        :param call: sends it.
        """
        return call()

    @property
    def store_id(self) -> str:
        """See the port, here and below."""
        return self.store.store_id

    @property
    def description(self) -> str:  # noqa: D102
        return self.store.description

    @property
    def reference(self) -> str | None:  # noqa: D102
        return self.store.reference

    @property
    def has_fused_step(self) -> bool:  # noqa: D102
        return self.store.has_fused_step

    @property
    def keeps_history(self) -> bool:  # noqa: D102
        return self.store.keeps_history

    @property
    def create_page(self) -> int:  # noqa: D102
        return self.store.create_page

    @property
    def pause_holds_after(self) -> timedelta:  # noqa: D102
        return pause_holds_after(self.store)

    @property
    def counts_failures(self) -> bool:  # noqa: D102
        return counts_failures(self.store)

    @property
    def follows_parking(self) -> bool:  # noqa: D102
        return follows_parking(self.store)

    def setup(self) -> None:  # noqa: D102
        self.store.setup()

    def close(self) -> None:  # noqa: D102
        self.store.close()

    def now(self) -> datetime:  # noqa: D102
        return self.forward("now", self.store.now)

    def register(self, source: str, facts: dict[str, Any]) -> None:  # noqa: D102
        self.forward("register", lambda: self.store.register(source, facts))

    def sources(self) -> Sequence[tuple[str, dict[str, Any]]]:  # noqa: D102
        return self.forward("sources", self.store.sources)

    def create(self, write: Create) -> Created:  # noqa: D102
        return self.forward("create", lambda: self.store.create(write))

    def acquire_next(self, write: AcquireNext) -> Partition | None:  # noqa: D102
        return self.forward("acquire_next", lambda: self.store.acquire_next(write))

    def acquire(self, write: KnownAcquisition) -> Answer:  # noqa: D102
        return self.forward("acquire", lambda: self.store.acquire(write))

    def write(self, write: FencedWrite) -> Answer:  # noqa: D102
        return self.forward("write", lambda: self.store.write(write))

    def complete_and_acquire(self, end: End, following: AcquireNext) -> FusedAnswer:  # noqa: D102
        return self.forward("complete_and_acquire", lambda: self.store.complete_and_acquire(end, following))

    def sweep(self, write: Sweep) -> Swept:  # noqa: D102
        return self.forward("sweep", lambda: self.store.sweep(write))

    def act(self, write: Act) -> Answer:  # noqa: D102
        return self.forward("act", lambda: self.store.act(write))

    def place(self, write: Place) -> Answer:  # noqa: D102
        return self.forward("place", lambda: self.store.place(write))

    def refresh(self, write: Refresh) -> Answer:  # noqa: D102
        return self.forward("refresh", lambda: self.store.refresh(write))

    def set_pause(self, write: SetPause) -> PauseAnswer:  # noqa: D102
        return self.forward("set_pause", lambda: self.store.set_pause(write))

    def pause(self, source: str) -> Pause:  # noqa: D102
        return self.forward("pause", lambda: self.store.pause(source))

    def holds_back(self, source: str) -> bool:  # noqa: D102
        return self.forward("pause", lambda: holds_back(self.store, source))

    def get(self, source: str, key: str) -> Partition | None:  # noqa: D102
        return self.forward("get", lambda: self.store.get(source, key))

    def find_nonce(self, source: str, nonce: str) -> Partition | None:  # noqa: D102
        return self.forward("find_nonce", lambda: self.store.find_nonce(source, nonce))

    def find_task(self, source: str, task: str) -> Sequence[Partition]:  # noqa: D102
        return self.forward("find_task", lambda: self.store.find_task(source, task))

    def page(  # noqa: D102
        self,
        source: str,
        status: PartitionStatus | None,
        after: str | None,
        limit: int,
        *,
        parked: bool | None = None,
    ) -> Sequence[Partition]:
        return self.forward("page", lambda: self.store.page(source, status, after, limit, parked=parked))

    def claimable(self, source: str, limit: int) -> Sequence[tuple[str, int]]:  # noqa: D102
        return self.forward("claimable", lambda: self.store.claimable(source, limit))

    def counts(self, source: str) -> dict[PartitionStatus, int]:  # noqa: D102
        return self.forward("counts", lambda: self.store.counts(source))

    def outlook(self, source: str) -> Outlook:  # noqa: D102
        return self.forward("outlook", lambda: self.store.outlook(source))

    def heads(  # noqa: D102
        self,
        source: str,
        dataset: str | None = None,
        key: str | None = None,
        after: str | None = None,
        limit: int = 1000,
        after_dataset: str | None = None,
    ) -> Sequence[HeadRecord]:
        return self.forward("heads", lambda: self.store.heads(source, dataset, key, after, limit, after_dataset))

    def history(self, source: str, key: str | None = None, limit: int = 1000) -> Sequence[PastTenure]:  # noqa: D102
        return self.forward("history", lambda: self.store.history(source, key, limit))

    def children(self, source: str, parent: str, after: str | None, limit: int) -> Sequence[Partition]:  # noqa: D102
        return self.forward("children", lambda: self.store.children(source, parent, after, limit))

    def follow_ups(  # noqa: D102
        self, source: str, key: str | None, after: FollowUp | None, limit: int
    ) -> Sequence[FollowUp]:
        return self.forward("follow_ups", lambda: self.store.follow_ups(source, key, after, limit))

    def clear_follow_up(self, done: FollowUp) -> None:  # noqa: D102
        self.forward("clear_follow_up", lambda: self.store.clear_follow_up(done))

    def forget_follow_up(self, write: Forget) -> None:  # noqa: D102
        self.forward("forget_follow_up", lambda: self.store.forget_follow_up(write))

    def audit(self, source: str, key: str | None) -> Sequence[dict[str, Any]]:  # noqa: D102
        return self.forward("audit", lambda: self.store.audit(source, key))
