"""What only the vendor's own engine keeps, and how it starts and ends."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from airflow_coordination.values.input_errors import SettingsError
from scripts.java_packages import jars
from tests.engines.dynamodb_local import dynamodb_local as engine
from tests.engines.orphans import ends_with_its_parent
from tests.integration.engines.conftest import KEY, connected, new_table

ON = {"Enabled": True, "AttributeName": "expirationTime"}
PARENT = """
import os, sys, time
from pathlib import Path
from tests.engines.dynamodb_local import dynamodb_local
with dynamodb_local(Path(sys.argv[1])):
    print(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()[0], flush=True)
    time.sleep(300)
"""


def counted(client: Any, table: str, token: str, step: str) -> None:
    update = {
        "TableName": table,
        "Key": {KEY: {"S": "a"}},
        "UpdateExpression": "ADD steps :step",
        "ExpressionAttributeValues": {":step": {"N": step}},
    }
    client.transact_write_items(ClientRequestToken=token, TransactItems=[{"Update": update}])


def steps(client: Any, table: str) -> str:
    return str(client.get_item(TableName=table, Key={KEY: {"S": "a"}}, ConsistentRead=True)["Item"]["steps"]["N"])


def test_a_repeated_transaction_is_applied_once(local_client: Any, local_table: str) -> None:
    for _ in range(3):
        counted(local_client, local_table, "token-1", "1")
    assert steps(local_client, local_table) == "1"
    counted(local_client, local_table, "token-2", "1")
    assert steps(local_client, local_table) == "2"


def test_a_token_is_for_one_transaction(local_client: Any, local_table: str) -> None:
    counted(local_client, local_table, "token-3", "1")
    with pytest.raises(local_client.exceptions.IdempotentParameterMismatchException):
        counted(local_client, local_table, "token-3", "5")
    assert steps(local_client, local_table) == "1"


def test_ttl_is_off_then_on_and_refused_twice(local_client: Any, local_table: str) -> None:
    def state() -> Any:
        return local_client.describe_time_to_live(TableName=local_table)["TimeToLiveDescription"]

    assert state() == {"TimeToLiveStatus": "DISABLED"}
    local_client.update_time_to_live(TableName=local_table, TimeToLiveSpecification=ON)
    assert state() == {"TimeToLiveStatus": "ENABLED", "AttributeName": "expirationTime"}
    with pytest.raises(ClientError, match="TimeToLive is already enabled"):
        local_client.update_time_to_live(TableName=local_table, TimeToLiveSpecification=ON)


def test_all_regions_and_credentials_see_one_table(dynamodb_local: str, local_table: str) -> None:
    with connected(dynamodb_local, region="eu-west-1") as elsewhere:
        # Not by a list: of more than a hundred tables it shows the first.
        assert elsewhere.describe_table(TableName=local_table)["Table"]["TableName"] == local_table


@pytest.mark.parametrize(("projection", "units"), [("ALL", 2.0), ("KEYS_ONLY", 1.0)])
def test_an_index_costs_a_unit_when_it_holds_what_changed(local_client: Any, projection: str, units: float) -> None:
    index = {
        "IndexName": "source-status",
        "KeySchema": [{"AttributeName": "status", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": projection},
    }
    with new_table(local_client, index, "status") as table:
        local_client.put_item(TableName=table, Item={KEY: {"S": "a"}, "status": {"S": "open"}})
        answer = local_client.update_item(
            TableName=table,
            Key={KEY: {"S": "a"}},
            UpdateExpression="SET leaseCounter = :counter",
            ExpressionAttributeValues={":counter": {"N": "2"}},
            ReturnConsumedCapacity="TOTAL",
        )
    assert answer["ConsumedCapacity"]["CapacityUnits"] == units


@pytest.mark.dynamodb
def test_it_ends_with_its_block() -> None:
    with engine(jars("dynamodb-local")) as endpoint:
        pass
    with connected(endpoint) as client, pytest.raises(Exception, match="Could not connect"):
        client.list_tables()


@pytest.mark.dynamodb
def test_it_ends_with_its_parent() -> None:
    ended = ends_with_its_parent(PARENT, str(jars("dynamodb-local")), seconds=30)
    assert ended, "DynamoDB Local outlived its parent by 30 seconds"


def test_no_jars_are_an_error_with_the_command(tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as error, engine(tmp_path):
        pass
    assert str(error.value) == (
        f"jars='{tmp_path}': has no DynamoDBLocal-*.jar. "
        "Download it first; in a checkout: python scripts/java_packages.py dynamodb-local"
    )


def test_no_java_is_an_error_with_the_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "DynamoDBLocal-0.jar").touch()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(SettingsError) as error, engine(tmp_path):
        pass
    assert str(error.value) == (
        f"JAVA_HOME='{tmp_path}': has no Java. Install Java 17 or 21: apt-get install openjdk-17-jre-headless"
    )


@pytest.mark.dynamodb
def test_an_engine_that_cannot_start_says_why(tmp_path: Path) -> None:
    (tmp_path / "DynamoDBLocal-0.jar").touch()
    with pytest.raises(RuntimeError, match=r"(?s)DynamoDB Local did not start.*ServerRunner"), engine(tmp_path):
        pass
