"""A store's connection that names one of type ``aws``: what is read, what is refused, and what a driver gets."""

import asyncio
import json
import sys

import pytest
from airflow.sdk import Connection
from airflow.sdk.log import redact

from airflow_coordination.hooks.amazon import AmazonAccess, make_client, read_access
from airflow_coordination.hooks.connection import read_connection
from airflow_coordination.hooks.coordination import CoordinationHook
from airflow_coordination.leases import SettingsError, StoreUnavailableError
from airflow_coordination.stores.dynamodb.options import DynamoDBOptions

ROLE = "arn:aws:iam::123456789012:role/Worker"
KEYS = {"AWS_ACCESS_KEY_ID": "AKIAOFTHEUNIT", "AWS_SECRET_ACCESS_KEY": "secret-of-the-unit", "AWS_SESSION_TOKEN": ""}
BLOCK = {"store": {"dynamodb": {"table_name": "Table", "region": "eu-west-1", "ttl": "P7D"}}}


def aws(**extra):
    return {"conn_type": "aws", "login": "AKIAOFTHEUNIT", "password": "secret-of-the-unit", "extra": extra}


@pytest.fixture
def hook(monkeypatch):
    """Return a hook on two connections."""

    def make(amazon, host="dynamodb://Table?region=eu-west-1", **extra):
        connection = {"conn_type": "coordination", "host": host, "extra": {"aws_conn_id": "amazon", **extra}}
        monkeypatch.setenv("AIRFLOW_CONN_STORE", json.dumps(connection))
        if amazon:
            monkeypatch.setenv("AIRFLOW_CONN_AMAZON", json.dumps(amazon))
        return CoordinationHook("store")

    return make


@pytest.mark.parametrize(
    "where",
    [{"host": "dynamodb://Table?region=eu-west-1&ttl=P7D"}, {"extra": {"source_coordination": BLOCK}}],
    ids=["url", "object"],
)
def test_without_an_aws_connection_a_driver_gets_the_store_alone(where):
    fields = {**where, "extra": json.dumps(where.get("extra", {}))}
    said = read_connection(Connection(conn_id="c", conn_type="coordination", **fields))
    assert (said.aws_conn_id, said.amazon) == (None, None)
    assert said.driver_environment() == {"COORDINATION_STORE": "dynamodb://Table?region=eu-west-1&ttl=PT604800S"}


def test_a_driver_gets_the_connections_keys_region_and_endpoints(hook):
    services = {"s3": {"endpoint_url": "http://s3:9000"}}
    extra = {"region_name": "eu-west-3", "endpoint_url": "http://all:5000", "service_config": services}
    assert hook(aws(**extra)).connection.driver_environment() == KEYS | {
        "COORDINATION_STORE": "dynamodb://Table?region=eu-west-1",
        "AWS_REGION": "eu-west-3",
        "AWS_DEFAULT_REGION": "eu-west-3",
        "AWS_ENDPOINT_URL_DYNAMODB": "http://all:5000",
        "AWS_ENDPOINT_URL_S3": "http://s3:9000",
    }


def test_a_driver_assumes_the_connections_role_itself_so_that_it_may_run_for_long(hook):
    extra = {"role_arn": ROLE, "assume_role_kwargs": {"ExternalId": "team-7", "DurationSeconds": 900}}
    assert hook(aws(**extra)).connection.driver_environment() == KEYS | {
        "COORDINATION_STORE": "dynamodb://Table?region=eu-west-1"
        "&sts_role_arn=arn%3Aaws%3Aiam%3A%3A123456789012%3Arole%2FWorker&sts_external_id=team-7",
    }


def test_a_driver_finds_the_keys_of_a_profile_itself(hook):
    amazon = {"conn_type": "aws", "extra": {"profile_name": "work"}}
    assert hook(amazon).connection.driver_environment() == {
        "COORDINATION_STORE": "dynamodb://Table?region=eu-west-1",
        "AWS_PROFILE": "work",
    }


def test_where_the_store_is_no_dynamodb_the_aws_connection_serves_the_drivers_s3(hook):
    said = hook(aws(), host="postgresql+psycopg://u@db/c").connection
    assert said.driver_environment() == KEYS | {"COORDINATION_STORE": "postgresql+psycopg://u@db/c"}


def test_its_secrets_are_masked_and_shown_nowhere(hook):
    extra = {"aws_session_token": "token-of-the-unit", "assume_role_kwargs": {"ExternalId": "team-8-outside"}}
    said = hook(aws(**extra)).connection
    assert "of-the-unit" not in repr(said).lower()
    assert "team-8" not in repr(said)
    masked = "*** *** *** ***"
    assert redact("AKIAOFTHEUNIT secret-of-the-unit token-of-the-unit team-8-outside") == masked


def test_the_external_id_of_a_store_is_masked():
    block = {"store": {"dynamodb": {"table_name": "Table", "sts_role_arn": ROLE, "sts_external_id": "team-9-outside"}}}
    extra = json.dumps({"source_coordination": block})
    read_connection(Connection(conn_id="c", conn_type="coordination", extra=extra))
    assert redact("with team-9-outside") == "with ***"


def test_a_missing_aws_connection_is_an_error_and_no_fall_back(hook):
    with pytest.raises(SettingsError) as refused:
        hook(None).get_conn()
    assert str(refused.value) == (
        "aws_conn_id='amazon': is not a defined Airflow connection, and other credentials than you meant would be "
        "used. Create it with the type aws, or leave aws_conn_id out"
    )


def test_another_type_of_connection_is_refused(hook):
    with pytest.raises(SettingsError, match="connection amazon='s3': is the wrong connection type for aws_conn_id"):
        hook({"conn_type": "s3"}).get_conn()


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        ({"role_arn": ROLE, "assume_role_method": "ask"}, "Found assume_role_method='ask'"),
        ({"config_kwargs": {"retires": 3}}, "Got unexpected keyword argument 'retires'"),
        ({"profile_name": "no-such"}, "The config profile (no-such) could not be found"),
    ],
    ids=["method", "config", "profile"],
)
def test_a_connection_that_makes_no_sense_is_told_with_its_name(extra, message):
    access = read_access(Connection(conn_id="amazon", conn_type="aws", extra=json.dumps(extra)))
    with pytest.raises(SettingsError) as refused:
        make_client(access, DynamoDBOptions(table_name="Table", region="eu-west-1"))
    assert str(refused.value).startswith("aws_conn_id='amazon': cannot be used: ")
    assert message in str(refused.value)


def test_without_the_amazon_provider_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "airflow.providers.amazon.aws.hooks.base_aws", None)
    with pytest.raises(SettingsError) as refused:
        make_client(AmazonAccess("amazon"), DynamoDBOptions(table_name="Table"))
    assert "aws_conn_id='amazon': needs Airflow's Amazon provider, which is not installed here" in str(refused.value)
    assert 'Run `pip install "airflow-coordination[amazon]"` here' in str(refused.value)


def test_a_service_of_roles_that_does_not_answer_is_an_outage(unused_tcp_port_url):
    extra = {"role_arn": ROLE, "service_config": {"sts": {"endpoint_url": unused_tcp_port_url}}}
    access = AmazonAccess("amazon", "key", "secret", json.dumps(extra))
    with pytest.raises(StoreUnavailableError, match="use its aws connection"):
        make_client(access, DynamoDBOptions(table_name="Table", region="eu-west-1"))


@pytest.fixture
def unused_tcp_port_url():
    from tests.engines.ports import free_port

    return f"http://127.0.0.1:{free_port()}"


def test_the_clients_retries_are_ours_unless_the_connection_says_otherwise():
    options = DynamoDBOptions(table_name="Table", region="eu-west-1")
    ours = make_client(AmazonAccess("amazon", "key", "secret"), options).meta.config
    assert (ours.retries["total_max_attempts"], ours.connect_timeout, ours.read_timeout) == (1, 3, 5)
    extra = json.dumps({"config_kwargs": {"retries": {"mode": "standard", "max_attempts": 2}, "read_timeout": 9}})
    theirs = make_client(AmazonAccess("amazon", "key", "secret", extra), options).meta.config
    assert (theirs.retries["total_max_attempts"], theirs.connect_timeout, theirs.read_timeout) == (3, 3, 9)


@pytest.mark.parametrize(
    ("options", "region", "endpoint"),
    [
        ({}, "eu-west-3", "http://connection:8000"),
        ({"region": "eu-west-1", "endpoint_url": "http://store:8000"}, "eu-west-1", "http://store:8000"),
    ],
    ids=["connection", "store"],
)
def test_the_stores_own_region_and_endpoint_go_before_the_connections(options, region, endpoint):
    services = {"dynamodb": {"endpoint_url": "http://connection:8000"}}
    extra = json.dumps({"region_name": "eu-west-3", "service_config": services})
    client = make_client(AmazonAccess("amazon", "key", "secret", extra), DynamoDBOptions(table_name="Table", **options))
    assert (client.meta.region_name, client.meta.endpoint_url) == (region, endpoint)


def test_a_trigger_looks_both_connections_up_without_blocking_its_loop(hook, monkeypatch):
    waiting = hook(aws(region_name="eu-west-3"))
    monkeypatch.setattr(CoordinationHook, "get_connection", None)
    asyncio.run(waiting.resolve())
    assert waiting.connection.driver_environment()["AWS_REGION"] == "eu-west-3"


def test_a_trigger_is_told_of_a_missing_aws_connection_too(hook):
    with pytest.raises(SettingsError, match="aws_conn_id='amazon': is not a defined Airflow connection"):
        asyncio.run(hook(None).resolve())
