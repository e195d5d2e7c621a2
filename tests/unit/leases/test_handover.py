"""What a driver of the version before makes of a hand-over, and what one of this version does."""

import json
from datetime import timedelta

import pytest

from airflow_coordination.leases import Fence, HandOver, Settings, SettingsError
from airflow_coordination.values.settings import Balancing

BEFORE = {
    *("source", "partition_prefix", "key", "fence", "owner", "settings", "store_id", "output_root"),
    *("max_leases", "max_runtime", "task_pid"),
}


def handover(**more):
    given = {"source": "s", "partition_prefix": None, "key": "k", "fence": Fence(1, "n"), "owner": "o", "store_id": "i"}
    return HandOver(**given, settings=Settings(), **more)


def test_one_lease_at_a_time_says_nothing_that_a_driver_of_before_does_not_know():
    text = handover().to_json()
    assert set(json.loads(text)) == BEFORE
    assert HandOver.from_json(text) == handover()


def test_several_at_a_time_and_what_was_retaken_arrive():
    given = handover(max_leases=None, concurrent_leases=3, retaken=(("a", Fence(2, "x")), ("b-1", Fence(7, "y-z"))))
    assert HandOver.from_json(given.to_json()) == given


def test_how_many_leases_a_call_has_arrives_where_it_says_something():
    given = handover(max_leases=None, together=200)
    assert HandOver.from_json(given.to_json()) == given
    assert set(json.loads(given.to_json())) == BEFORE | {"together"}


@pytest.mark.parametrize("timeout", [None, timedelta(seconds=90)])
def test_how_it_shares_with_others_arrives(timeout):
    balance = Balancing(max_leases_to_steal_at_one_time=2, hand_over_timeout=timeout, steal=False)
    given = handover(max_leases=None, concurrent_leases=3, balance=balance)
    assert HandOver.from_json(given.to_json()) == given


def test_z7_how_often_a_worker_looks_goes_along_where_it_says_something():
    """Z7: older code does not know it."""
    usual, often = Balancing(), Balancing(balance_interval=timedelta(seconds=2.5))
    for balance, told in ((usual, None), (often, 2.5)):
        given = handover(max_leases=None, concurrent_leases=3, balance=balance)
        assert json.loads(given.to_json())["balance"].get("balance_interval") == told
        assert HandOver.from_json(given.to_json()) == given


@pytest.mark.parametrize("balance", [True, {}, {"steal": "x"}, {"hand_over_timeout": None, "more": 1}])
def test_what_is_no_balance_is_refused(balance):
    fields = json.loads(handover(concurrent_leases=2).to_json()) | {"balance": balance}
    with pytest.raises(SettingsError):
        HandOver.from_json(json.dumps(fields))


@pytest.mark.parametrize("retaken", [[["a"]], [["a", "none"]], 5, [["a", 1]]])
def test_what_was_never_retaken_so_is_refused(retaken):
    fields = json.loads(handover(concurrent_leases=2).to_json()) | {"retaken": retaken}
    with pytest.raises(SettingsError, match="is no hand-over"):
        HandOver.from_json(json.dumps(fields))
