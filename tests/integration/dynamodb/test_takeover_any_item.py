"""Whatever is in an item, it becomes a partition that this package and Data Prepper can read."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from airflow_coordination.stores.dynamodb import items as it
from airflow_coordination.stores.dynamodb.setup.data_prepper import read, taken_over
from airflow_coordination.stores.dynamodb.setup.takeover import whole_item
from airflow_coordination.values.status import PartitionStatus
from tests.integration.dynamodb.data_prepper import bean

NOW = datetime(2026, 11, 21, tzinfo=UTC)

INSTANTS = st.builds(
    lambda moment, fraction, zone: f"{moment:%Y-%m-%dT%H:%M:%S}{fraction}{zone}".rjust(20, "0"),
    st.datetimes(),
    st.sampled_from(["", ".5", ".123", ".123456", ".123456789"]),
    st.sampled_from(["Z", "+00:00", "-14:00", "+14:00", ""]),
)
NUMBERS = st.integers(-1, 10**12).map(Decimal) | st.just(Decimal("1.5"))
ANYTHING = st.text(max_size=30) | INSTANTS | NUMBERS | st.booleans() | st.none() | st.dictionaries(st.text(), NUMBERS)
ITEMS = st.fixed_dictionaries(
    {"sourceIdentifier": st.sampled_from(["a|PARTITION", "a|GLOBAL_STATE"]), "sourcePartitionKey": st.text(min_size=1)},
    optional={
        "sourcePartitionStatus": st.sampled_from([str(status) for status in PartitionStatus]) | ANYTHING,
        "partitionOwner": ANYTHING,
        "partitionOwnershipTimeout": INSTANTS | ANYTHING,
        "partitionProgressState": ANYTHING,
        "reOpenAt": INSTANTS | ANYTHING,
        "closedCount": NUMBERS | ANYTHING,
        "version": NUMBERS | ANYTHING,
        "partitionPriority": INSTANTS | ANYTHING,
        "sourceStatusCombinationKey": ANYTHING,
        "expirationTime": NUMBERS | ANYTHING,
        "somebody's own": ANYTHING,
    },
)


def closed(reopen_at: str) -> dict[str, Any]:
    key = {"sourceIdentifier": "a|PARTITION", "sourcePartitionKey": "k"}
    return {**key, "sourcePartitionStatus": "CLOSED", "reOpenAt": reopen_at}


@given(ITEMS)
@example(closed("0001-01-01T00:00:00Z"))
@example(closed("9999-12-31T23:59:59-14:00"))
@example(closed("2026-01-01T00:00:00.5+02:00"))
def test_any_item_becomes_a_partition(item: dict[str, Any]):
    """It is stored, read again, and says the same; and Java's bean can be made of it."""
    found = read(item)
    partition = taken_over(found, "op", NOW)
    wire = it.typed(whole_item(found, partition, NOW))
    again = it.decode(it.plain(wire))
    assert again == replace(partition, available_at=again.available_at)
    assert (again.available_at is None) == (partition.available_at is None)
    bean(wire)
    assert wire["version"]["N"] == str(partition.token + 1)
    if item.get("sourcePartitionStatus") == "COMPLETED" and not found.remembers:
        assert partition.status is PartitionStatus.COMPLETED
    elif found.problems and not found.remembers:
        assert partition.parked
    else:
        assert not partition.parked
