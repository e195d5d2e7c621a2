"""The watch over a driver on this host."""

import pytest

from airflow_coordination.leases import PartitionNotOwnedError
from airflow_coordination.submission.watch import Watch


def test_b3_a_renewal_after_the_drivers_own_ending_does_not_end_the_driver(case):
    """B3: the task may not have heard that the driver began, and renews beside it."""
    case.coordinator.complete(case.began)
    with pytest.raises(PartitionNotOwnedError) as refused:
        case.coordinator.renew(case.lease)
    case.watch._lost_by_renewal(refused.value)
    assert (case.ended, case.watch.lost) == ([], None)


class Three:
    """A task that took over three tenures from the try before, on which one driver is to go on."""

    def __init__(self, case):
        self.coordinator = case.coordinator
        following = [self.coordinator.acquire_partition(key) for key in ("free", "next")]
        self.leases = {each.key: each for each in (case.lease, *following)}
        self.ended = []
        self.watch = Watch(self.coordinator, case.lease, lambda: self.ended.append(True), further=following, places=3)


@pytest.fixture
def three(case):
    return Three(case)


def test_what_the_driver_is_to_go_on_with_is_renewed_until_it_does(three):
    with three.watch:
        beats = three.watch._further
        assert [beats[key]._beats.is_alive() for key in ("free", "next")] == [True, True]
        three.watch.driver_holds("free", three.leases["free"].fence)
        beats["free"]._beats.join(5)
        assert [beats[key]._beats.is_alive() for key in ("free", "next")] == [False, True]
    assert not beats["next"]._beats.is_alive()


def test_one_lost_among_several_does_not_end_the_driver(three):
    three.coordinator.people.release("free", by="ana", why="moved")
    three.watch._look()
    assert (three.ended, three.watch.lost) == ([], None)


def test_a_driver_that_has_lost_all_is_ended(three):
    for key in three.leases:
        three.coordinator.people.release(key, by="ana", why="moved")
    three.watch._look()
    assert three.ended == [True]
    assert isinstance(three.watch.lost, PartitionNotOwnedError)


def test_a_driver_that_ended_them_all_itself_is_not(three, case):
    for lease in (case.began, three.leases["free"], three.leases["next"]):
        three.coordinator.complete(lease)
    three.watch._look()
    assert (three.ended, three.watch.lost) == ([], None)


def test_a_store_that_does_not_answer_ends_no_driver(three, monkeypatch):
    monkeypatch.setattr(three.coordinator.store, "find_task", lambda *_: 1 / 0)
    three.watch._look()
    assert (three.ended, three.watch.lost) == ([], None)
