"""A store in DynamoDB behind Airflow's own AWS connection, against moto: who asks, in which role, and for how long."""

import json
import os
import re

import boto3
import pytest

from airflow_coordination.leases import PartitionStatus, SourceCoordinator

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

ROLE = "arn:aws:iam::123456789012:role/Worker"
KEY_ID, SECRET, EXTERNAL_ID = "AKIACANARY5D1FKEYID", "canary-5d1f-secret", "canary-5d1f-external-id"
JOB = """
from airflow_coordination import open_store
from airflow_coordination.spark.handed_over import HandedOver

store = open_store(HandedOver.take().store())
print("the job reaches", store.store_id)
"""


@pytest.fixture
def assumed(moto_server, monkeypatch):
    """Roles assumed since the test began: role, external id, session; ``assumed.by`` has the keys that asked."""
    from moto.sts.responses import TokenResponse

    answer = TokenResponse.assume_role
    found = Assumed()

    def record(self):
        found.append(tuple(self._get_param(name) for name in ("RoleArn", "ExternalId", "RoleSessionName")))
        found.by.append(re.search(r"Credential=(\w+)/", self.headers["Authorization"])[1])
        return answer(self)

    monkeypatch.setattr(TokenResponse, "assume_role", record)
    return found


class Assumed(list):
    def __init__(self):
        super().__init__()
        self.by = []


@pytest.fixture
def connect(moto_server, monkeypatch, request):
    """Define both connections to a table of the test's own, set it up, and return its name."""

    def define(where="", **extra):
        table = request.node.name.replace("[", "_").replace("]", "")[:60]
        endpoints = {name: {"endpoint_url": moto_server} for name in ("dynamodb", "sts", "s3")}
        amazon = {
            "conn_type": "aws",
            "login": KEY_ID,
            "password": SECRET,
            "extra": {"region_name": "us-east-1", "service_config": endpoints, **extra},
        }
        store = {"conn_type": "coordination", "host": f"dynamodb://{table}{where}", "extra": {"aws_conn_id": "amazon"}}
        monkeypatch.setenv("AIRFLOW_CONN_AMAZON", json.dumps(amazon))
        monkeypatch.setenv("AIRFLOW_CONN_COORDINATION_DEFAULT", json.dumps(store))
        from airflow_coordination.hooks.coordination import CoordinationHook

        store = CoordinationHook().get_conn()
        store.setup()
        return store

    return define


def role(**more):
    return {"role_arn": ROLE, "assume_role_kwargs": {"ExternalId": EXTERNAL_ID, **more}}


def signer(store):
    """Return the id of the access key that signs the store's requests."""
    return store.table.client._request_signer._credentials.access_key


def test_the_connections_role_is_assumed_with_its_external_id(connect, assumed):
    store = connect(**role())
    assert assumed == [(ROLE, EXTERNAL_ID, "airflow_amazon")]
    assert signer(store) != KEY_ID


def test_a_role_of_the_store_is_assumed_with_the_connections_credentials(connect, assumed):
    mine = ROLE.replace("Worker", "Table")
    store = connect(f"?sts_role_arn={mine}&sts_external_id=of-the-store")
    assert assumed == [(mine, "of-the-store", "airflow-coordination")]
    assert signer(store) != KEY_ID


def test_a_role_of_the_store_is_assumed_by_the_role_of_the_connection(connect, assumed):
    mine = ROLE.replace("Worker", "Table")
    store = connect(f"?sts_role_arn={mine}", **role())
    assert assumed == [(ROLE, EXTERNAL_ID, "airflow_amazon"), (mine, None, "airflow-coordination")]
    assert assumed.by[0] == KEY_ID
    assert len({KEY_ID, assumed.by[1], signer(store)}) == 3


def test_one_client_serves_every_look(connect, assumed):
    """A sensor looks again and again, and a trigger asks for its coordinator; none of them assumes a role again."""
    from airflow_coordination.hooks.coordination import CoordinationHook

    store = connect(**role())
    for _ in range(3):
        again = CoordinationHook().get_conn()
        again.sources()
        assert again is store
    assert len(assumed) == 1


def test_a_changed_key_makes_another_client(connect):
    store = connect()
    assert connect(region_name="us-west-2") is not store


def test_the_command_line_prints_its_answer_alone(connect, capfd, monkeypatch):
    """Airflow's Amazon provider logs to standard output, too, when a client is made: a new key makes a new one."""
    from airflow.cli.cli_parser import get_parser

    SourceCoordinator(connect(), "flights", "test").create_partitions(["a"])
    monkeypatch.setenv("AIRFLOW_CONN_AMAZON", os.environ["AIRFLOW_CONN_AMAZON"].replace(SECRET, f"new-{SECRET}"))
    arguments = get_parser().parse_args(["coordination", "status", "-o", "json"])
    capfd.readouterr()
    arguments.func(arguments)
    [row] = json.loads(capfd.readouterr().out)
    assert (row["source"], row["unassigned"]) == ("flights", 1)


def create(state):
    return ["a"]


def test_partitions_go_from_supplier_to_a_driver_that_assumes_the_role_itself(
    connect, assumed, process, run_dag, tmp_path
):
    from airflow.sdk import DAG

    from airflow_coordination.operators import CreatePartitionsOperator, LeasedSparkSubmitOperator
    from airflow_coordination.sensors import PartitionsSensor

    store = connect(**role(DurationSeconds=3600))
    job = tmp_path / "job.py"
    job.write_text(JOB)
    with DAG("amazon", schedule=None) as dag:
        made = CreatePartitionsOperator(task_id="create", source="flights", supplier=create)
        ready = PartitionsSensor(task_id="ready", source="flights", deferrable=True)
        LeasedSparkSubmitOperator.partial(
            task_id="process", source="flights", application=str(job), conn_id="spark_local", complete_on_success=True
        ).expand(hint=ready.output)
        made >> ready
    run = run_dag(dag)
    assert {ti.state for ti in run.get_task_instances()} == {"success"}
    assert SourceCoordinator(store, "flights", "test").counts()[PartitionStatus.COMPLETED] == 1
    assert assumed == [(ROLE, EXTERNAL_ID, "airflow_amazon"), (ROLE, EXTERNAL_ID, "airflow-coordination")]


@pytest.mark.parametrize(
    ("where", "kwargs"),
    [(f"&sts_role_arn={ROLE.replace('Worker', 'Table')}", {}), ("", {"Tags": [{"Key": "team", "Value": "seven"}]})],
    ids=["two_roles", "more_than_options_can_say"],
)
def test_where_it_cannot_the_driver_gets_the_roles_temporary_credentials(connect, assumed, where, kwargs):
    from airflow_coordination.hooks.coordination import CoordinationHook

    connect(f"?region=eu-west-1{where}", **role(**kwargs), region_name=None)
    handed = CoordinationHook().connection.driver_environment()
    assert assumed[-1] == (ROLE, EXTERNAL_ID, "airflow_amazon")
    assert handed["AWS_ACCESS_KEY_ID"] != KEY_ID
    assert handed["AWS_SESSION_TOKEN"]
    assert EXTERNAL_ID not in str(handed)
    session = boto3.Session(
        handed["AWS_ACCESS_KEY_ID"], handed["AWS_SECRET_ACCESS_KEY"], handed["AWS_SESSION_TOKEN"], "eu-west-1"
    )
    caller = session.client("sts", endpoint_url=handed["AWS_ENDPOINT_URL_STS"]).get_caller_identity()
    assert caller["Arn"].endswith("assumed-role/Worker/airflow_amazon")
