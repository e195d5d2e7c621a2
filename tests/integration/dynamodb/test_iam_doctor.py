"""What ``doctor`` says of a table and of permissions, without changing anything."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from typing import Any

import pytest

from airflow_coordination.cli.standalone import main
from airflow_coordination.stores.diagnostics import Finding, Verdict
from airflow_coordination.stores.dynamodb import DynamoDBStore
from airflow_coordination.stores.dynamodb.setup.examination import OF_DATA_PREPPER, examine
from airflow_coordination.stores.dynamodb.setup.iam import Role, required
from tests.integration.dynamodb.engine import Engine
from tests.integration.dynamodb.moto_iam import User, actions

LOOKING = {"dynamodb:DescribeTable", "dynamodb:DescribeTimeToLive"}


@pytest.fixture(scope="module")
def user(moto: Engine) -> Iterator[User]:
    with closing(User(moto)) as user:
        yield user


def looked(engine: Engine, table: str, client: Any, role: Role = Role.WORKER, **options: Any) -> dict[str, Finding]:
    """Return the findings by what was looked at."""
    store = DynamoDBStore(engine.options(table, **options), client=lambda _: client)
    return {finding.check: finding for finding in examine(store, role)}


def wrong(findings: dict[str, Finding]) -> set[str]:
    return {check for check, finding in findings.items() if finding.verdict is Verdict.WRONG}


@pytest.fixture
def made(moto: Engine, table: str) -> Iterator[str]:
    """Name of a table that is set up."""
    moto.store(table).setup()
    yield table
    moto.delete(table)


@pytest.mark.parametrize("role", Role)
def test_what_is_missing_is_named_and_nothing_else(moto: Engine, user: User, made: str, role: Role) -> None:
    with user.allowed(actions(role)) as client:
        assert wrong(looked(moto, made, client, role)) == set()
    with user.allowed(LOOKING) as client:
        findings = looked(moto, made, client, role)
    missing = {f"{action} on index {index}" if index else action for action, index in required(role)} - LOOKING
    assert wrong(findings) == missing
    assert {findings[check].remedy for check in missing} == {
        f"Allow it: `airflow coordination iam {role}` prints the policy"
    }


def test_what_would_change_something_is_not_tried(moto: Engine, user: User, made: str) -> None:
    """An absent table would be made, and TTL be set."""
    with user.allowed(set(actions(Role.SETUP)) - LOOKING) as client:
        findings = looked(moto, made, client, Role.SETUP)
    for check in ("dynamodb:CreateTable", "dynamodb:UpdateTimeToLive"):
        assert (findings[check].verdict, findings[check].found[:9]) == (Verdict.UNKNOWN, "not tried")


def test_nothing_is_changed(engine: Engine, store: DynamoDBStore, table: str) -> None:
    """Neither the table nor its items, whoever may do everything."""
    before = _all_of(engine, table)
    for role in Role:
        findings = looked(engine, table, engine.client, role)
        assert {check: finding.verdict for check, finding in findings.items()} == dict.fromkeys(findings, Verdict.OK)
    assert _all_of(engine, table) == before


def _all_of(engine: Engine, table: str) -> Any:
    described = engine.client.describe_table(TableName=table)["Table"]
    ttl = engine.client.describe_time_to_live(TableName=table)["TimeToLiveDescription"]["TimeToLiveStatus"]
    return described, ttl, engine.client.scan(TableName=table)["Items"]


def test_the_list_in_data_prepper_s_documentation_is_recognised(moto: Engine, user: User, made: str) -> None:
    with user.allowed(OF_DATA_PREPPER) as client:
        findings = looked(moto, made, client)
    assert wrong(findings) == {"dynamodb:BatchGetItem", "dynamodb:DeleteItem", "dynamodb:UpdateItem", "policy"}
    assert findings["policy"].found.startswith("these are the permissions that Data Prepper documents")


def test_a_worker_need_not_describe_the_table(moto: Engine, user: User, made: str) -> None:
    with user.allowed(actions(Role.WORKER)) as client:
        findings = looked(moto, made, client)
    assert findings["table"] == Finding(
        "table",
        Verdict.UNKNOWN,
        "this role may not describe it",
        "Look again with the credentials of the set-up role",
    )
    assert findings["ttl"].verdict is Verdict.UNKNOWN


def test_the_table_is_described(engine: Engine, table: str) -> None:
    engine.store(table, ttl=timedelta(days=7)).setup()
    findings = looked(engine, table, engine.client, ttl=timedelta(days=7))
    told = {check: findings[check].found for check in ("table", "index", "billing", "ttl")}
    assert told == {"table": "ACTIVE", "index": "ACTIVE", "billing": "on_demand", "ttl": "ENABLED on expirationTime"}
    assert findings["layout"].found.startswith("native")
    engine.delete(table)


def test_what_is_wrong_with_a_table_is_said(moto: Engine, made: str, table: str) -> None:
    absent = looked(moto, "not-there", moto.client)
    assert wrong(absent) == {"table"}
    assert "store migrate" in absent["table"].remedy
    no_ttl = looked(moto, made, moto.client, ttl=timedelta(days=7))
    assert no_ttl["ttl"].found == "DISABLED, and the option ttl asks for it on expirationTime"
    assert wrong(no_ttl) == {"ttl"}


def test_a_foreign_table_is_recognised(moto: Engine, table: str) -> None:
    moto.client.create_table(
        TableName=table,
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        ProvisionedThroughput={"ReadCapacityUnits": 3, "WriteCapacityUnits": 4},
    )
    findings = looked(moto, table, moto.client)
    assert wrong(findings) == {"layout"}
    assert "its key is id, not sourceIdentifier and sourcePartitionKey" in findings["layout"].found
    assert findings["billing"].found == "provisioned: 3 read and 4 write units"
    moto.delete(table)


def test_the_command_prints_it_and_fails_where_something_is_wrong(
    moto: Engine, made: str, capsys: pytest.CaptureFixture[str]
) -> None:
    store = moto.options(made).url
    assert main(["doctor", "--store", store, "-o", "json"]) == 0
    rows = {row["check"]: row for row in json.loads(capsys.readouterr().out)}
    assert {"pyspark", "store", "clock", "table", "dynamodb:UpdateItem"} <= rows.keys()
    assert "this host is" in rows["clock"]["found"]
    assert main(["doctor", "--store", moto.options("not-there").url, "-o", "json"]) == 1
    assert "store migrate" in capsys.readouterr().out
