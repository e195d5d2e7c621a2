"""What can be written into the options of a ``dynamodb`` store, and what it says to what cannot."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_coordination.stores import open_store
from airflow_coordination.stores.config import DYNAMODB_OPTIONS
from airflow_coordination.stores.dynamodb import DynamoDBStore
from airflow_coordination.stores.dynamodb.options import DynamoDBOptions, options_of
from airflow_coordination.values.input_errors import SettingsError

ROLE = "arn:aws:iam::123456789012:role/SourceCoordinationTableRole"
SEED = {
    "table_name": "SourceCoordinationStore",
    "region": "us-east-1",
    "sts_role_arn": ROLE,
    "sts_external_id": "my-external-id",
    "skip_table_creation": False,
    "provisioned_write_capacity_units": 10,
    "provisioned_read_capacity_units": 10,
    "ttl": "P7D",
}


def opened(**options: Any) -> DynamoDBOptions:
    store = open_store({"source_coordination": {"store": {"dynamodb": options}}})
    assert isinstance(store, DynamoDBStore)
    return store.options


def test_the_seeds_own_example() -> None:
    options = opened(**SEED)
    assert options.ttl == timedelta(days=7)
    assert options == options_of(options.url, {})


def test_the_seeds_defaults() -> None:
    options = opened(table_name="SourceCoordinationStore", region=None, ttl=None)
    assert options == DynamoDBOptions(table_name="SourceCoordinationStore")
    assert (options.provisioned_write_capacity_units, options.provisioned_read_capacity_units) == (10, 10)
    assert (options.skip_table_creation, options.ttl, options.billing_mode) == (False, None, "provisioned")


WEEK = timedelta(days=7)
AS_DATA_PREPPER: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"ttl": "604800s"}, {"ttl": WEEK}),
    ({"ttl": "604800 s"}, {"ttl": WEEK}),
    ({"ttl": " 604800000ms "}, {"ttl": WEEK}),
    ({"ttl": "PT86400.5S"}, {"ttl": timedelta(seconds=86_400.5)}),
    ({"ttl": "PT86400,25s"}, {"ttl": timedelta(seconds=86_400.25)}),
    ({"ttl": "PT86400.000001999S"}, {"ttl": timedelta(seconds=86_400, microseconds=1)}),
    ({"sts_role_arn": ""}, {"sts_role_arn": None}),
    ({"sts_role_arn": "", "sts_external_id": ""}, {"sts_role_arn": None, "sts_external_id": None}),
    ({"sts_role_arn": ROLE, "sts_external_id": ""}, {"sts_role_arn": ROLE, "sts_external_id": None}),
    ({"provisioned_read_capacity_units": 10.0}, {"provisioned_read_capacity_units": 10}),
    ({"provisioned_write_capacity_units": "12"}, {"provisioned_write_capacity_units": 12}),
]


@pytest.mark.parametrize(("options", "meant"), AS_DATA_PREPPER, ids=[str(options) for options, _ in AS_DATA_PREPPER])
def test_c5_what_data_prepper_reads_is_read_the_same(options: dict[str, Any], meant: dict[str, Any]) -> None:
    """C5: other ways to write a value; they come through the store's URL, too."""
    found = opened(**{"table_name": "SourceCoordinationStore"} | options)
    assert {name: getattr(found, name) for name in meant} == meant
    assert options_of(found.url, {}) == found


WHERE = "source_coordination.store.dynamodb"
BAD = [
    ({"ttl": 7}, f"{WHERE}.ttl=7: is no ISO-8601 duration. Write P7D for 7 days, or PT12H for 12 hours"),
    ({"ttl": "7"}, "ttl='7': is no ISO-8601 duration. Write P7D for 7 days"),
    ({"ttl": "7d"}, "ttl='7d': is no ISO-8601 duration"),
    ({"ttl": "P"}, "ttl='P': is no ISO-8601 duration"),
    ({"ttl": "P1M"}, "ttl='P1M': is no ISO-8601 duration"),
    ({"ttl": "PT0S"}, "ttl='PT0S': is no ISO-8601 duration"),
    ({"ttl": "-P7D"}, "ttl='-P7D': is no ISO-8601 duration"),
    ({"ttl": "0s"}, "ttl='0s': is no ISO-8601 duration"),
    ({"ttl": "07d"}, "ttl='07d': is no ISO-8601 duration"),
    ({"ttl": "3599s"}, "ttl='3599s': is shorter than an hour"),
    ({"ttl": "99999999999999999s"}, "is longer than 100 years"),
    ({"ttl": "P" + "9" * 5_000 + "D"}, "is no ISO-8601 duration"),
    ({"ttl": True}, "ttl=True: is no ISO-8601 duration"),
    ({"ttl": "P999999999999D"}, "ttl='P999999999999D': is longer than 100 years. Write a shorter one"),
    (
        {"ttl": "PT59M"},
        "ttl='PT59M': is shorter than an hour, and a late message could create a completed partition anew",
    ),
    ({"provisioned_write_capacity_units": 0}, "provisioned_write_capacity_units=0: is no number of capacity units"),
    ({"provisioned_write_capacity_units": -1}, "Give a whole number above zero"),
    ({"provisioned_read_capacity_units": "ten"}, "provisioned_read_capacity_units='ten': is no number of capacity"),
    ({"provisioned_read_capacity_units": 1.5}, "provisioned_read_capacity_units=1.5: is no number of capacity units"),
    ({"provisioned_read_capacity_units": True}, "provisioned_read_capacity_units=True: is no number of capacity units"),
    (
        {"sts_role_arn": "arn:aws:iam::############:role/Coordination"},
        "is no ARN of a role: a documentation's example, with # for its account's digits. Write it like arn:aws:iam::1",
    ),
    ({"sts_external_id": "x1"}, "belongs to a role, and none is named. Give sts_role_arn, too"),
    ({"sts_role_arn": "SourceCoordinationTableRole"}, "is no ARN of a role. Write it like arn:aws:iam::"),
    ({"sts_role_arn": "arn:aws:iam::123456789012:user/me"}, "is no ARN of a role"),
    ({"skip_table_creation": "maybe"}, "skip_table_creation='maybe': is neither true nor false. Write true or false"),
    ({"skip_table_creation": 1}, "skip_table_creation=1: is neither true nor false"),
    ({"region": "frankfurt!"}, "region='frankfurt!': is no region. Write it like us-east-1"),
    ({"region": 1}, "region=1: is no region"),
    ({"billing_mode": "free"}, "billing_mode='free': is no billing mode. Use one of provisioned, on_demand"),
    ({"endpoint_url": "localhost:8000"}, "endpoint_url='localhost:8000': is no endpoint. Write it like http://"),
    ({"endpoint_url": "http://me:secret@localhost"}, "is no endpoint"),
    ({"table_name": "a"}, "table_name='a': is no table name of 3 to 255 letters, digits, - _ ."),
    ({"table_name": "sp ace"}, "table_name='sp ace': is no table name"),
    ({"table_name": None}, "is no table name"),
    ({"table-name": "x"}, "Did you mean 'table_name'?"),
    ({"sts_role": ROLE}, "Did you mean 'sts_role_arn'?"),
    ({"time_to_live": "P7D"}, "is not an option here"),
]


@pytest.mark.parametrize(("options", "message"), BAD, ids=[str(options) for options, _ in BAD])
def test_what_cannot_be_is_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError) as raised:
        opened(**{"table_name": "SourceCoordinationStore"} | options)
    assert message in str(raised.value)


def test_an_external_id_is_not_repeated() -> None:
    with pytest.raises(SettingsError) as raised:
        opened(table_name="SourceCoordinationStore", sts_external_id="my-external-id")
    assert "my-external-id" not in str(raised.value)


@given(st.sampled_from(DYNAMODB_OPTIONS), st.none() | st.booleans() | st.integers() | st.floats() | st.text())
def test_nothing_but_a_settings_error_comes_of_any_value(name: str, value: Any) -> None:
    try:
        options = opened(**{"table_name": "SourceCoordinationStore"} | {name: value})
    except SettingsError:
        return
    assert options_of(options.url, {}) == options


@pytest.mark.parametrize(
    "where",
    [
        "dynamo://Table?sts_external_id=CANARY-1",
        '{"store": {"dynamodb": {"table_name": "Table", "sts_external_id": "CANARY-1"}}',
        "dynamodb://Table?region=us-east-1&sts_external_id=CANARY 1",
        "dynamodb://Table?region=us-east-1&endpoint_url=http://user:CANARY@host:8000",
    ],
)
def test_x4_no_message_shows_an_external_id_or_a_password(where: str) -> None:
    with pytest.raises(SettingsError) as caught:
        open_store(where)
    assert "CANARY" not in str(caught.value)
