"""A source whose partitions publish, in branches and out of them, and which is hidden, restored and purged in time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final

from airflow_coordination.duties.retention.purge import Purged, ToPurge, purge, to_purge
from airflow_coordination.leases import Block, SourceCoordinator
from airflow_coordination.outputs.heads.showing import read_view, shown_pages
from airflow_coordination.planning.intervals import Interval, parse_interval
from airflow_coordination.planning.periods import Period
from airflow_coordination.planning.unused.deleting import Margins
from airflow_coordination.planning.view import changing
from airflow_coordination.planning.view.view import View
from airflow_coordination.protocol.pages import every_head
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.protocol.results import HeadRecord
from airflow_coordination.protocol.writes import Act, Action
from airflow_coordination.stores.in_memory import InMemoryStore
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.values.times import Randomness

SOURCE, DATASET, STORED = "flights", "clean", "flights|PARTITION"
DAY: Final = timedelta(days=1)
BUFFER, RETAIN = Period(0, 30 * DAY, "P30D"), Period(0, 90 * DAY, "P90D")
JANUARY: Final = "2013-01/P1M"
LONG_AFTER: Final = datetime(2013, 8, 1, tzinfo=UTC)
"""January ended more than 90 days before."""


@dataclass(slots=True)
class Archive:
    """One source on one store, and the time of both.

    :param store: in memory by default.
    """

    clock: FakeClock = field(default_factory=lambda: FakeClock(LONG_AFTER))
    store: PartitionStore = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        self.store = self.store or InMemoryStore(self.clock)

    @property
    def flights(self) -> SourceCoordinator:
        """Somebody who works on the source."""
        return SourceCoordinator(self.store, SOURCE, "a test")

    @property
    def view(self) -> View:
        """What readers see."""
        return read_view(self.store, STORED)

    def change(self, change, why: str = "a test") -> View:
        """Change what readers see."""
        return self.flights.documents.change_view(change, "ana", why)

    def publish(
        self, key: str, interval: str | None = None, branch: int | None = None, blocks: Iterable[Block] = ()
    ) -> None:
        """Let a partition publish anew."""
        flights = self.flights
        flights.create_partitions([key])
        self.reset(key, branch)
        lease = flights.acquire_partition(key)
        assert lease is not None
        row = list(blocks) or [Block(DATASET, f"/{key}/{lease.fence}", f"{lease.fence}", 1, 1)]
        flights.complete(lease, row, interval=interval)

    def reset(self, key: str, branch: int | None = None) -> None:
        """Let a partition begin anew, in a branch or in none."""
        seen = self.store.get(STORED, key)
        assert seen is not None
        op = Randomness().op_id()
        act = Act(source=STORED, key=key, op=op, action=Action.RESET, seen=seen, by="ana", why="again", branch=branch)
        assert self.store.act(act).applied

    def begin(self, number_of_partitions: int = 1) -> int:
        """Begin a branch."""
        number = 0

        def begun(view: View) -> View:
            nonlocal number
            after, number = changing.begun(view, {"all": True}, None, "ana", "late data", self.store.now())
            return changing.complete(after, number, number_of_partitions, None)

        self.change(begun)
        return number

    def show(self, number: int) -> None:
        """Publish a branch."""
        self.change(lambda view: changing.published(view, number, self.store.now()))

    def roll_back(self, number: int) -> None:
        """Roll a branch back."""
        self.change(lambda view: changing.rolled_back(view, number, self.store.now()))

    def finalize(self, number: int) -> None:
        """Let a branch show for good."""
        self.change(lambda view: changing.finalized(view, number, self.store.now()))

    def hide(self, interval: str = JANUARY, why: str = "old") -> None:
        """Hide an interval."""
        self.change(lambda view: changing.hidden(view, DATASET, said(interval), "ana", why, self.store.now()))

    def restore(self, interval: str = JANUARY) -> None:
        """Take that back."""
        self.change(lambda view: changing.restored(view, DATASET, said(interval)))

    def purge(self, most: int = 100, buffer: Period = BUFFER, retain: Period | None = RETAIN) -> Purged:
        """Purge, as a person would."""
        return purge(self.flights, margins(most, buffer, retain), by="ana", why="space")

    def to_purge(self, most: int = 100) -> ToPurge:
        """What that would do."""
        return to_purge(self.flights, margins(most))

    def heads(self) -> list[HeadRecord]:
        """All head records, of all branches."""
        return list(every_head(self.store, STORED))

    def full(self) -> list[tuple[str, str]]:
        """Stored dataset and key of the head records that have something."""
        return sorted((head.dataset, head.key) for head in self.heads() if head.blocks)

    def seen(self) -> dict[str, str]:
        """What readers find: of each partition, the digest of its block."""
        pages = shown_pages(self.store, STORED, DATASET, self.view)
        return {head.key: block.digest for page in pages for head in page for block in head.blocks}


def margins(most: int = 100, buffer: Period = BUFFER, retain: Period | None = RETAIN) -> Margins:
    """Margins for the one dataset there is."""
    know = buffer.is_zero
    return Margins(duration_to_retain=retain, buffer=buffer, most=most, datasets=[DATASET], i_know=know)


def said(interval: str) -> Interval:
    """An interval as people write it."""
    return parse_interval("interval", interval)
