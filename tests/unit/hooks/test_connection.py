"""What a connection of type ``coordination`` says."""

import json
import logging

import pytest
from airflow.providers.common.compat.sdk import AirflowNotFoundException
from airflow.sdk import Connection

from airflow_coordination.hooks.connection import read_connection
from airflow_coordination.hooks.coordination import CoordinationHook
from airflow_coordination.leases import SettingsError
from airflow_coordination.stores.config import parse_config


def connection(**fields):
    fields.setdefault("conn_type", "coordination")
    if "extra" in fields:
        fields["extra"] = json.dumps(fields["extra"])
    return Connection(conn_id="c", **fields)


def test_a_store_url_gets_the_connections_password():
    said = read_connection(connection(host="postgresql+psycopg://u@db:5432/c", password="s3cr/t word"))
    assert said.store.url == "postgresql+psycopg://u:s3cr%2Ft%20word@db:5432/c"
    assert said.driver_environment() == {"COORDINATION_STORE": said.store.url}
    assert parse_config(said.store.url) == said.store, "a driver reads it"
    assert "s3cr" not in repr(said)


def test_x4_secrets_are_masked_in_every_log():
    from airflow.providers.common.compat.sdk import redact

    read_connection(connection(host="postgresql+psycopg://u:hidden%2Fin%2Furl@db/c"))
    assert redact("before hidden/in/url after") == "before *** after"
    assert redact("postgresql+psycopg://u:hidden%2Fin%2Furl@db/c") == "postgresql+psycopg://u:***@db/c"


BLOCK = "source_coordination:\n  partition_prefix: team\n  store:\n    sql:\n      url: sqlite:////tmp/c.db\n"


def test_the_seeds_block_is_accepted_verbatim_as_yaml_and_json():
    said = read_connection(connection(extra={"source_coordination": BLOCK}))
    assert (said.store.url, said.store.partition_prefix) == ("sqlite:////tmp/c.db", "team")
    block = {"partition_prefix": "team", "store": {"sql": {"url": "sqlite:////tmp/c.db", "pool_size": 2}}}
    said = read_connection(connection(extra={"source_coordination": json.dumps(block)}))
    handed = json.loads(said.driver_environment()["COORDINATION_STORE"])
    assert handed == {"store": {"sql": {"url": "sqlite:////tmp/c.db", "pool_size": 2}}}


def test_its_other_fields_are_settings():
    extra = {"output_root": "/data", "partition_prefix": "team", "ownership_timeout": 60, "max_failures": None}
    said = read_connection(connection(host="sqlite:////tmp/c.db", extra=extra))
    assert (said.output_root, said.store.partition_prefix, said.settings) == (
        "/data",
        "team",
        {"ownership_timeout": 60},
    )


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"conn_type": "postgres", "host": "db"}, "connection c='postgres': is the wrong connection type"),
        ({}, "connection c='host': names no store"),
        ({"host": "sqlite:////a.db", "extra": {"source_coordination": BLOCK}}, "connection c='host': names two stores"),
        ({"host": "sqlite:////a.db", "extra": {"ownership_timout": 1}}, "Did you mean 'ownership_timeout'?"),
        ({"host": "db.example"}, "store='db.example': is neither a URL nor"),
        ({"extra": {"source_coordination": "store: {dynamo: {}}"}}, "Did you mean 'dynamodb'?"),
        (
            {"extra": {"source_coordination": {"store": {"sql": {"url": "sqlite:////a.db", "pool_size": [5]}}}}},
            "source_coordination.store.sql.pool_size='list': is no plain value. Give a text, a number, true or false",
        ),
        (
            {"host": "postgresql+psycopg://db/c", "login": "worker"},
            "connection c login='(given)': is not read, and the store's URL does not say so. Write it into the URL",
        ),
        ({"host": "postgresql+psycopg://db/c", "port": 6543}, "connection c port='(given)': is not read,"),
        ({"host": "postgresql+psycopg://db/c", "schema": "other"}, "connection c schema='(given)': is not read,"),
        ({"host": "memory://", "schema": "other"}, "connection c schema='(given)': is not read,"),
    ],
)
def test_bad_connections_say_what_to_do(fields, message):
    with pytest.raises(SettingsError) as refused:
        read_connection(connection(**fields))
    assert message in str(refused.value)


def test_fields_that_repeat_the_url_are_welcome():
    found = read_connection(connection(host="postgresql+psycopg://u@db:6543/c", login="u", port=6543, schema="c"))
    assert found.store.url == "postgresql+psycopg://u@db:6543/c"


@pytest.mark.parametrize("url", ["postgresql+psycopg://u:old@db/c", "postgresql+psycopg://u@db/c?password=old"])
def test_of_two_passwords_none_is_taken_in_silence(url):
    with pytest.raises(SettingsError) as refused:
        read_connection(connection(host=url, password="new"))
    assert str(refused.value) == (
        "password='(not shown)': is said in the store's URL, too, and is another one there. Leave it out of the URL"
    )
    assert "new" in read_connection(connection(host=url.replace("old", "new"), password="new")).store.url


def test_without_the_default_connection_an_embedded_store_is_set_up_and_said_once(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr("airflow_coordination.hooks.connection.AIRFLOW_HOME", str(tmp_path))
    caplog.set_level(logging.INFO)
    first, second = CoordinationHook().get_conn(), CoordinationHook().get_conn()
    assert first is second
    assert (tmp_path / "coordination.db").exists()
    assert list(first.sources()) == []
    said = [record.getMessage() for record in caplog.records if "No connection" in record.getMessage()]
    assert said == [f"No connection 'coordination_default' is defined: partitions are kept in {first.description}"]


def test_the_embedded_store_may_lie_in_a_folder_of_any_name(tmp_path, monkeypatch):
    home = tmp_path / "it's 100%25 #1?"
    home.mkdir()
    monkeypatch.setattr("airflow_coordination.hooks.connection.AIRFLOW_HOME", str(home))
    assert list(CoordinationHook().get_conn().sources()) == []
    assert (home / "coordination.db").exists()


def test_another_connection_must_exist():
    with pytest.raises(AirflowNotFoundException, match=r"'other' is not defined\. Create it with the type"):
        CoordinationHook("other").get_conn()


@pytest.mark.parametrize("executor", ["CeleryExecutor", "KubernetesExecutor", "LocalExecutor,CeleryExecutor"])
def test_the_embedded_store_is_refused_where_tasks_run_elsewhere(tmp_path, monkeypatch, executor):
    monkeypatch.setattr("airflow_coordination.hooks.connection.AIRFLOW_HOME", str(tmp_path))
    monkeypatch.setenv("AIRFLOW__CORE__EXECUTOR", executor)
    with pytest.raises(SettingsError) as refused:
        CoordinationHook().get_conn()
    assert executor in str(refused.value)
    assert "AIRFLOW_CONN_COORDINATION_DEFAULT" in str(refused.value)
    assert "[coordination] output_root" in str(refused.value)
    assert not (tmp_path / "coordination.db").exists()


def test_the_form_can_test_a_connection(tmp_path, monkeypatch):
    monkeypatch.setenv(
        "AIRFLOW_CONN_C", json.dumps({"conn_type": "coordination", "host": f"sqlite:///{tmp_path}/c.db"})
    )
    works, said = CoordinationHook("c").test_connection()
    assert not works
    assert "store migrate" in said
    CoordinationHook("c").get_conn().setup()
    works, said = CoordinationHook("c").test_connection()
    assert works
    assert "answers at" in said
