"""The coordinator holds its parts: what it is, what each is given, and what a class of it may still change."""

import inspect

import pytest

from airflow_coordination.leases import Lease, SourceCoordinator, coordinator
from airflow_coordination.leases.creation import View
from airflow_coordination.leases.supply import SourceView
from airflow_coordination.stores.in_memory import InMemoryStore

STAYS = {
    *("accounting", "acquire_partition", "begin", "claimable", "close", "complete", "complete_and_get_next", "counts"),
    *(
        "create_partitions",
        "describe_owner",
        "explain",
        "fail",
        "get_next_partition",
        "give_up",
        "heartbeat",
        "history",
    ),
    *("on_parked", "partition", "partitions", "refusals", "renew", "run_supplier", "save_progress_state", "sweep"),
}
"""What workers, suppliers and readers call; everything else lies in a part."""
VALUES = {"store", "source", "owner", "settings", "metrics", "partition_prefix"}


@pytest.fixture
def flights():
    return SourceCoordinator(InMemoryStore(), "flights", "one")


def public(owner):
    return {name for name in dir(owner) if not name.startswith("_")}


def parts(flights):
    return {name: part for name, part in vars(flights).items() if not name.startswith("_") and name not in VALUES}


def test_the_coordinator_inherits_nothing_and_has_what_workers_suppliers_and_readers_call():
    assert SourceCoordinator.__mro__ == (SourceCoordinator, object)
    assert public(SourceCoordinator) == STAYS


def test_every_part_is_held_and_inherits_nothing(flights):
    assert len(parts(flights)) == 12
    for part in parts(flights).values():
        assert type(part).__mro__[1:] == (object,)


def test_no_part_is_given_the_coordinator(flights):
    """Functions of it are: how it ends a tenure, sweeps, and keeps a lease alive."""
    bound = {}
    for name, part in parts(flights).items():
        given = vars(part).items()
        assert all(value is not flights for _, value in given)
        bound[name] = sorted(value.__name__ for _, value in given if getattr(value, "__self__", None) is flights)
    assert {name: its for name, its in bound.items() if its} == {
        "moving": ["_sweep"],
        "supplying": ["heartbeat"],
        "tries": ["_end"],
    }


def test_a_supplier_sees_what_its_view_says_and_no_more():
    asked = {name for base in SourceView.__mro__[:-1] for name in vars(base) if not name.startswith("_")}
    assert public(View) == asked == {"store", "identifier", "partition", "partitions", "delete", "count"}


def test_a_class_that_keeps_leases_alive_in_its_own_way_does_so_for_the_supplier():
    kept = []

    class Watched(coordinator.SourceCoordinator):
        def heartbeat(self, lease: Lease, *arguments, **named):
            kept.append(lease.partition.source)
            return super().heartbeat(lease, *arguments, **named)

    Watched(InMemoryStore(), "flights", "one").run_supplier(lambda state: ["a"])
    assert kept == ["flights|GLOBAL_STATE"]


def test_a_move_sweeps_and_forgets_nothing(flights):
    assert list(inspect.signature(flights.moving._sweep).parameters) == ["limit"]
