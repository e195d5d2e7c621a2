"""An action falls on what was counted, and on nothing else."""

import pytest

from airflow_coordination.leases import PartitionIdentifier
from airflow_coordination.monitoring.acting import OFFERED, as_counted, at_stake, each, stamp
from airflow_coordination.protocol.writes import Action
from airflow_coordination.values.errors import PartitionNotFoundError, PartitionUpdateError


def test_a_renewal_leaves_the_stamp_as_it_was(parked):
    parked.people.reopen("2014-01", by="ana", why="w")
    lease = parked.acquire_partition("2014-01")
    seen = stamp(parked.partition("2014-01"))
    parked.save_progress_state(parked.renew(lease), {"row": 1})
    assert stamp(parked.partition("2014-01")) == seen
    assert as_counted(parked, Action.RELEASE, "2014-01", seen).key == "2014-01"


def test_what_moved_on_is_refused_with_what_it_is_now(parked):
    seen = stamp(parked.partition("2014-01"))
    parked.people.reopen("2014-01", by="ana", why="w")
    with pytest.raises(PartitionUpdateError, match="it changed meanwhile and is UNASSIGNED now"):
        as_counted(parked, Action.RESET, "2014-01", seen)
    parked.people.park("2014-01", by="ana", why="w")
    with pytest.raises(PartitionUpdateError, match=r"is CLOSED \(parked\) now"):
        as_counted(parked, Action.RESET, "2014-01", seen)
    parked.people.delete("2014-01", by="ana", why="w")
    with pytest.raises(PartitionNotFoundError):
        as_counted(parked, Action.RESET, "2014-01", seen)


@pytest.mark.parametrize("action", OFFERED)
def test_all_that_is_offered_can_be_done(parked, action):
    if action is Action.RELEASE:
        parked.people.reopen("2014-01", by="ana", why="w")
        parked.acquire_partition("2014-01")
    elif action is Action.PARK:
        parked.people.reopen("2014-01", by="ana", why="w")
    parked.people.act(action, "2014-01", "ana", "because", parked.partition("2014-01"))
    said = parked.store.audit("flights|PARTITION", "2014-01")[-1]
    assert (said["action"], said["by"], said["why"]) == (action, "ana", "because")


def test_what_is_refused_for_one_keeps_no_other_from_it(parked):
    parked.people.reopen("2014-02", by="ana", why="w")
    parked.acquire_partition("2014-02")
    partitions = [parked.partition(key) for key in ("2014-01", "2014-02")]
    first, second = each(partitions, lambda one: parked.people.act(Action.REOPEN, one.key, "ana", "w", one))
    assert (first, type(second)) == (None, PartitionUpdateError)


def test_only_a_retract_puts_output_at_stake(parked):
    seen = parked.partition("2014-01")
    assert at_stake(parked.store, Action.RESET, seen) == {}
    assert at_stake(parked.store, Action.RETRACT, seen) == {"datasets": None, "rows": 0}


@pytest.mark.parametrize("action", [Action.RESET, Action.REOPEN, Action.PARK])
def test_what_is_taken_up_again_names_whom_it_does_not_hold_back(parked, action):
    """A release is final: what waited for it goes on."""
    parked.create_partitions([PartitionIdentifier(key, parents=["2014-01"]) for key in ("early", "early too")])
    assert at_stake(parked.store, action, parked.partition("2014-01")) == {}
    parked.people.finish("2014-01", by="ana", why="because")
    parked.people.reset("2014-01", by="ana", why="because")
    parked.create_partitions([PartitionIdentifier("late", parents=["2014-01"])])
    seen = parked.partition("2014-01")
    assert at_stake(parked.store, action, seen) == {"released": 2, "named": "'early', 'early too'"}
    assert at_stake(parked.store, Action.FINISH, seen) == {"children": 1, "named": "'late'"}
