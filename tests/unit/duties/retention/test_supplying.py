"""Partitions that rules drop are not created: by their payload's interval, or by their key."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest

from airflow_coordination.duties.retention.ruled import set_rules
from airflow_coordination.duties.retention.supplying import RuledSupplier, ruled_supplier
from airflow_coordination.leases import Checkpoint, InvalidInputError, PartitionIdentifier, SourceCoordinator
from airflow_coordination.leases.supply import SupplierRun

A_MONTH = [{"type": "dropBeforeByPeriod", "period": "P30D"}]
NOW = datetime.now(UTC)
DAYS = [f"{NOW - timedelta(days=back):%Y-%m-%d}" for back in (60, 40, 20, 1)]


@pytest.fixture
def flights(store) -> SourceCoordinator:
    return SourceCoordinator(store, "flights", "test")


def run(flights: SourceCoordinator, supplier, rules, pattern=None) -> tuple[SupplierRun, dict[str, int]]:
    ruled = ruled_supplier(supplier, flights, rules, pattern)
    assert isinstance(ruled, RuledSupplier)
    return flights.run_supplier(ruled), ruled.dropped


def there(flights: SourceCoordinator) -> list[str]:
    return [each.key for each in flights.looking.each()]


def test_what_is_older_than_thirty_days_is_never_created(flights) -> None:
    found, dropped = run(flights, lambda state: [*DAYS, "odd"], A_MONTH, "%Y-%m-%d")
    assert there(flights) == [*DAYS[2:], "odd"]
    assert found.created.created == 3
    assert dropped == {"rule 1, dropBeforeByPeriod P30D": 2}


def test_the_payload_goes_before_the_key_and_what_is_none_is_left_alone(flights) -> None:
    made = [
        PartitionIdentifier("a", payload={"interval": f"{DAYS[0]}/P1D"}),
        PartitionIdentifier(DAYS[0], payload={"interval": f"{DAYS[3]}/P1D"}),
        PartitionIdentifier(DAYS[1], payload={"interval": 7}),
    ]
    _, dropped = run(flights, lambda state: made, A_MONTH, "%Y-%m-%d")
    assert there(flights) == [DAYS[0], DAYS[1]] if DAYS[0] < DAYS[1] else [DAYS[1], DAYS[0]]
    assert sum(dropped.values()) == 1


def test_the_rules_of_a_dataset_hold_as_they_are_at_the_run(flights) -> None:
    flights.supplying.register()
    ruled = ruled_supplier(lambda state: DAYS, flights, "clean", "%Y-%m-%d")
    set_rules(flights, "clean", json.dumps(A_MONTH), "ana", "a month is enough")
    flights.run_supplier(ruled)
    assert there(flights) == DAYS[2:]
    set_rules(flights, "clean", "[]", "ana", "all of it")
    set_rules(flights, None, '[{"type": "dropBeforeByPeriod", "period": "P50D"}]', "ana", "in general")
    flights.run_supplier(ruled)
    assert there(flights) == DAYS[1:]
    assert ruled.dropped == {"default rule 1, dropBeforeByPeriod P50D": 1}


def test_checkpoints_state_and_what_is_refused_are_as_without_rules(flights) -> None:
    def supplier(state):
        for number, day in enumerate(DAYS):
            yield day
            yield Checkpoint({"last": number})

    found, _ = run(flights, supplier, A_MONTH, "%Y-%m-%d")
    assert found.state == flights.supplying.global_state() == {"last": 3}
    for wrong, said in (
        (lambda state: None, "returned nothing and left the global state as it was"),
        (lambda state: "2013", "returned str"),
        (lambda state: [7], "gave int"),
    ):
        with pytest.raises(InvalidInputError, match=said):
            run(flights, wrong, A_MONTH)


def test_a_supplier_that_sees_its_source_sees_it(flights) -> None:
    class Seeing:
        def supply(self, state, view):
            return [] if view.partition(DAYS[3]) else DAYS

    run(flights, Seeing(), A_MONTH, "%Y-%m-%d")
    assert there(flights) == DAYS[2:]
    assert run(flights, Seeing(), A_MONTH, "%Y-%m-%d")[0].created.created == 0


def test_without_rules_it_is_the_same_supplier(flights) -> None:
    assert ruled_supplier(list, flights, None) is list
    assert ruled_supplier(None, flights, None) is None


@pytest.mark.parametrize(
    ("supplier", "rules", "pattern", "said"),
    [
        (list, [], None, "says nothing"),
        (list, [{"type": "dropByPeriod", "period": "30D"}], None, "Write P30D"),
        (list, {"type": "dropForever"}, None, "is no list of rules"),
        (list, "~7~clean", None, "Leave out the ~"),
        (list, A_MONTH, "%j", "%j"),
        (list, None, "%Y", "changes nothing without rules="),
        (None, A_MONTH, None, "changes nothing without supplier="),
    ],
)
def test_what_makes_no_sense_is_refused(flights, supplier, rules, pattern, said) -> None:
    with pytest.raises(InvalidInputError, match=said):
        ruled_supplier(supplier, flights, rules, pattern)
