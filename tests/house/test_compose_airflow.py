"""The compose file against Airflow, its providers and Spark as they are installed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest

from airflow_coordination.get_provider_info import get_provider_info
from tests.house.compose import ENVIRONMENT, SERVICES, airflow_commands, connection
from tests.house.tree import ROOT

OPTIONS = [name for name in ENVIRONMENT if name.startswith("AIRFLOW__")]
SPARK_COMMANDS = [service["command"] for service in SERVICES.values() if "entrypoint" in service]


@pytest.mark.parametrize("name", OPTIONS)
def test_option_exists(name):
    """Every AIRFLOW__SECTION__KEY is an option of Airflow or of this provider."""
    from airflow.configuration import conf

    section, option = name.removeprefix("AIRFLOW__").lower().split("__")
    ours = get_provider_info()["config"]
    known = ours.get(section) or conf.configuration_description[section]
    assert option in known["options"]


def test_everything_else_is_a_connection_or_a_variable_that_a_dag_reads():
    """There is no other kind, so a misspelt prefix shows."""
    others = [name for name in ENVIRONMENT if name not in OPTIONS and not re.fullmatch(r"AIRFLOW_CONN_[A-Z_]+", name)]
    dags = "".join(path.read_text() for path in (ROOT / "dags").glob("*.py"))
    read = {f"AIRFLOW_VAR_{name.upper()}" for name in re.findall(r'Variable\.get\("(\w+)"', dags)}
    assert set(others) <= read


@pytest.mark.parametrize("command", airflow_commands(), ids=" ".join)
def test_command_exists(command):
    """Airflow's own parser takes every command, ours among them."""
    from airflow.cli.cli_parser import get_parser

    assert get_parser().parse_args(command).func


def test_coordination_connection_is_read_by_the_hook():
    """The store's URL with its password, and nothing unknown."""
    from airflow.sdk import Connection

    from airflow_coordination.hooks.connection import read_connection

    found = read_connection(Connection(conn_id="coordination_default", **connection("coordination_default")))
    assert found.store.url == "postgresql+psycopg://coordination:coordination@store:5432/coordination"


def test_the_second_store_is_reached_by_the_aws_connection(monkeypatch):
    """And a Spark driver gets the same keys and endpoints by its environment."""
    from airflow_coordination.hooks.coordination import CoordinationHook

    for name in ("AIRFLOW_CONN_COORDINATION_DYNAMODB", "AIRFLOW_CONN_AWS_DEFAULT"):
        monkeypatch.setenv(name, ENVIRONMENT[name])
    handed = CoordinationHook("coordination_dynamodb").connection.driver_environment()
    assert handed["COORDINATION_STORE"] == "dynamodb://coordination?billing_mode=on_demand"
    assert handed["AWS_ENDPOINT_URL_DYNAMODB"] == "http://dynamodb:8000"
    assert handed["AWS_ACCESS_KEY_ID"].isalnum(), "DynamoDB Local takes no other"


def test_spark_connection_leads_to_the_master(monkeypatch):
    """And not to YARN, which is where a missing connection leads."""
    from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook

    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", ENVIRONMENT["AIRFLOW_CONN_SPARK_DEFAULT"])
    command = SparkSubmitHook(conn_id="spark_default")._build_spark_submit_command("job.py")
    assert command[command.index("--master") + 1] == "spark://spark-master:7077"
    assert command[command.index("--deploy-mode") + 1] == "client"


@pytest.mark.parametrize(("client", "endpoint"), [("s3", "http://s3:5000"), ("dynamodb", "http://dynamodb:8000")])
def test_aws_connection_leads_to_the_services(monkeypatch, client, endpoint):
    """Each client of the Amazon provider gets the endpoint of its own service."""
    from airflow.providers.amazon.aws.hooks.base_aws import AwsBaseHook

    monkeypatch.setenv("AIRFLOW_CONN_AWS_DEFAULT", ENVIRONMENT["AIRFLOW_CONN_AWS_DEFAULT"])
    assert AwsBaseHook(aws_conn_id="aws_default", client_type=client).conn.meta.endpoint_url == endpoint


def test_health_checks_ask_what_exists():
    """The API server's route, the scheduler's port and moto's page."""
    from airflow.configuration import conf
    from moto.moto_api._internal.urls import url_paths

    routes = (files("airflow") / "api_fastapi/core_api/openapi/v2-rest-api-generated.yaml").read_text()
    port = conf.configuration_description["scheduler"]["options"]["scheduler_health_check_server_port"]["default"]
    assert SERVICES["api-server"]["healthcheck"]["test"][-1] == "http://localhost:8080/api/v2/monitor/health"
    assert "\n  /api/v2/monitor/health:\n" in routes
    assert SERVICES["scheduler"]["healthcheck"]["test"][-1] == f"http://localhost:{port}/health"
    assert "http://localhost:5000/moto-api/" in SERVICES["s3"]["healthcheck"]["test"][-1]
    assert any(
        re.fullmatch(path.format("http://localhost:5000"), "http://localhost:5000/moto-api/") for path in url_paths
    )


@pytest.mark.spark
@pytest.mark.parametrize("command", SPARK_COMMANDS, ids=lambda command: command[0].rpartition(".")[2])
def test_spark_services_take_their_options(command):
    """The pinned Spark's own usage text lists every option."""
    spark_class = Path(sys.executable).with_name("spark-class")
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable}
    finished = subprocess.run(
        [spark_class, command[0], "--help"], capture_output=True, text=True, env=environment, check=False
    )
    usage = finished.stdout + finished.stderr
    options = {word for word in command if word.startswith("--")}
    assert options
    assert options - set(re.findall(r"--[a-z-]+", usage)) == set()
