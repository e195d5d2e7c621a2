"""A source that completes, gives up and renews by its acknowledgments (Data Prepper's scenarios 42 to 44, and 48)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from airflow_coordination.acknowledgments import AcknowledgmentSetManager
from airflow_coordination.leases import Checkpoint, PartitionIdentifier, PartitionStatus, SourceCoordinator
from airflow_coordination.stores import open_store
from airflow_coordination.values.errors import PartitionNotOwnedError

HOUR = timedelta(hours=1)


@pytest.fixture
def store(clock):
    return open_store("memory://", clock=clock)


@pytest.fixture
def source(store, clock):
    source = SourceCoordinator(store, source="s3", owner="worker", ownership_timeout=timedelta(minutes=10), clock=clock)
    source.create_partitions(["object-1"])
    return source


@pytest.fixture
def scan(source, clock):
    """One pass: acquire, read, wait for the acknowledgment, then complete and delete, or give up."""
    deleted: list[str] = []
    manager = AcknowledgmentSetManager(clock)

    def scan(*results: bool):
        lease = source.get_next_partition()
        lease = source.save_progress_state(lease, {"row": 7})

        def acknowledged(positive: bool) -> None:
            if positive:
                source.complete(lease)
                deleted.append(lease.key)
            else:
                source.give_up(lease)

        acks = manager.create(acknowledged, 2 * HOUR)
        for record in range(len(results)):
            acks.add(record)
        acks.complete()
        for record, result in enumerate(results):
            acks.release(record, result)
        return acks

    scan.deleted, scan.manager = deleted, manager
    return scan


def test_s13_scenario_42_negative_gives_up_and_the_records_come_again(source, scan):
    scan(True, False, True)
    partition = source.partition("object-1")
    assert (partition.status, partition.progress_state, scan.deleted) == (PartitionStatus.UNASSIGNED, {"row": 7}, [])
    scan(True, True, True)
    assert source.partition("object-1").status is PartitionStatus.COMPLETED


def test_s13_scenario_43_positive_completes_then_deletes_once(source, scan):
    acks = scan(True, True)
    assert not acks.release(1)
    assert not acks.complete()
    assert (source.partition("object-1").status, scan.deleted) == (PartitionStatus.COMPLETED, ["object-1"])


def test_scenario_44_renewals_go_on_while_acknowledgments_are_pending(source, clock):
    manager = AcknowledgmentSetManager(clock)
    lease = source.get_next_partition()
    acks = manager.create(lambda _: None, 2 * HOUR)
    acks.add("slow")
    acks.add_progress_check(lambda _: source.renew(lease), timedelta(minutes=2))
    for _ in range(20):  # forty minutes under a lease of ten
        manager.look()
        clock.advance(timedelta(minutes=2))
    assert source.sweep().reclaimed == 0
    source.complete(lease)


def test_s13_scenario_44_a_lost_lease_makes_a_late_acknowledgment_powerless(source, store, clock, caplog):
    manager = AcknowledgmentSetManager(clock)
    lease = source.get_next_partition()
    acks = manager.create(lambda _: source.complete(lease), 2 * HOUR)
    acks.add("slow")
    acks.complete()
    clock.advance(timedelta(minutes=11))
    rival = SourceCoordinator(store, source="s3", owner="rival", clock=clock)
    taken = rival.get_next_partition()
    assert acks.release("slow")
    assert PartitionNotOwnedError.__name__ in caplog.text
    rival.complete(taken)


def test_scenario_48_who_cannot_lead_makes_nothing_and_who_has_lost_it_leads_again(store, clock):
    """Data Prepper's leader: no lease, no work; a save that fails drops the lead, and the next run acquires it anew."""
    one, rival, third = (SourceCoordinator(store, source="s3", owner=name, clock=clock) for name in ("1", "2", "3"))

    def leads_now(state):
        assert not third.run_supplier(lambda state: ["never"]).ran
        state["seen"] = 1
        return ["object-2"]

    def overtaken(state):
        yield "object-1"
        yield Checkpoint({})
        clock.advance(HOUR)
        assert rival.run_supplier(leads_now).ran
        yield Checkpoint({"seen": 0})

    with pytest.raises(PartitionNotOwnedError):
        one.run_supplier(overtaken)
    assert one.supplying.global_state() == {"seen": 1}
    assert [each.key for each in one.partitions()] == ["object-1", "object-2"]
    clock.advance(HOUR)
    assert one.run_supplier(lambda state: state.update(seen=2) or []).ran


def test_s19_scenario_48_children_start_after_their_parents_have_completed(source):
    source.create_partitions([PartitionIdentifier("object-2", parents=["object-1"])])
    lease = source.get_next_partition()
    assert source.get_next_partition() is None
    source.complete(lease)
    assert source.get_next_partition().key == "object-2"
