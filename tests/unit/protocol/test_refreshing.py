"""A reset renews the payload: what its supplier offers then is what is done, and what is deleted (E8, S29)."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

from airflow_coordination.follow_ups import DeleteObjects
from airflow_coordination.leases import PartitionIdentifier, SourceCoordinator
from airflow_coordination.protocol.writes import Action
from airflow_coordination.sources import object_listing
from airflow_coordination.stores.in_memory import InMemoryStore
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.testing.conformance.fixtures import Workbench
from airflow_coordination.testing.forwarding import ForwardingStore
from airflow_coordination.values.errors import OutcomeUnknownError

NEW = PartitionIdentifier("k", {"version": 2})


class AnswersOnce(ForwardingStore):
    """Applies a refresh, and loses its answer the first time."""

    lost = 0

    def forward(self, name: str, call: Any) -> Any:
        """Carry out one call."""
        answer = call()
        if name == "refresh" and not self.lost:
            self.lost += 1
            raise OutcomeUnknownError("refresh", "the connection broke")
        return answer


def made_and_reset(store: Any, clock: FakeClock) -> Workbench:
    there = Workbench(store, clock)
    there.create(PartitionIdentifier("k", {"version": 1}))
    there.complete(there.acquire())
    there.act(Action.RESET, "k")
    return there


def test_s6_e8_a_refresh_whose_answer_was_lost_is_reported_as_done() -> None:
    clock = FakeClock()
    store = AnswersOnce(InMemoryStore(clock))
    there = made_and_reset(store, clock)
    one = SourceCoordinator(store, there.source.split("|")[0], "me", clock=clock)
    created = one.create_partitions([NEW])
    assert (created.refreshed, created.changed, store.lost) == (1, (), 1)
    assert there.get("k").payload == NEW.payload


def test_s6_e8_a_reset_whose_answer_was_lost_is_found_beside_a_refresh() -> None:
    """The refresh moves neither last operation nor generation, by which the person's call is settled."""
    clock = FakeClock()
    there = made_and_reset(InMemoryStore(clock), clock)
    before = there.get("k")
    SourceCoordinator(there.store, there.source.split("|")[0], "me", clock=clock).create_partitions([NEW])
    after = there.get("k")
    assert (after.last_op, after.generation, after.token) == (before.last_op, before.generation, before.token)


def test_e8_a_file_that_was_written_again_is_deleted_after_a_reset(tmp_path: Path) -> None:
    clock, file = FakeClock(), tmp_path / "a.csv"
    file.write_text("first")
    one = SourceCoordinator(InMemoryStore(clock), "files", "me", clock=clock)

    def done_with_what_is_listed() -> tuple[int, tuple[str, ...]]:
        lease = one.get_next_partition()
        assert lease is not None
        one.complete(lease)
        carried = DeleteObjects.of(lease.partition).pinned(lease.partition).carry_out()
        return carried.done, carried.left_alone

    one.run_supplier(object_listing(str(tmp_path), scan=timedelta(0)))
    file.write_text("written again, and longer")
    done, left = done_with_what_is_listed()
    assert (done, len(left), file.exists()) == (0, 1, True)
    [found] = one.partitions()
    one.people.reset(found.key, by="ana", why="it was written again")
    assert one.run_supplier(object_listing(str(tmp_path), scan=timedelta(0))).created.refreshed == 1
    assert done_with_what_is_listed() == (1, ())
    assert not file.exists()
