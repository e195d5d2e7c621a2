"""Which route the store and the tenure take to a driver, and that nothing secret takes an open one (promise X4)."""

import json
from datetime import timedelta

import pytest

from airflow_coordination.hooks.coordination import CoordinationHook
from airflow_coordination.leases import Fence, HandOver, Settings, SettingsError
from airflow_coordination.leases.handover import from_word
from airflow_coordination.stores.registry import GROUP
from airflow_coordination.submission.credential_routes import MATRIX, MODES, REMEDIES, Driver, Opens, Route, route_of
from airflow_coordination.submission.driver_inputs import inputs_for, what_opens

CANARY = "canary-e31b"
ROLE = "arn:aws:iam::123456789012:role/Worker"
SQL = "postgresql+psycopg://me@db/c"
STORES = {
    Opens.MEMORY: {"host": "memory://"},
    Opens.FILE: {"host": "sqlite:////var/lib/c.db"},
    Opens.SQL: {"host": SQL},
    Opens.SQL_PASSWORD: {"host": SQL, "password": CANARY},
    Opens.ROLE: {"host": f"dynamodb://Table?region=eu-west-1&sts_role_arn={ROLE}"},
    Opens.EXTERNAL_ID: {"host": f"dynamodb://Table?sts_role_arn={ROLE}&sts_external_id={CANARY}"},
    Opens.ELSEWHERE: {"host": "mystore://host/d"},
    Opens.ELSEWHERE_SECRET: {"host": "mystore://me@host/d", "password": CANARY},
    Opens.KEYS: {"host": "dynamodb://Table?region=eu-west-1", "aws": {"login": "AKIA", "password": CANARY}},
}
CELLS = [(driver, opens) for driver in Driver for opens in Opens]


@pytest.fixture(autouse=True)
def store_from_elsewhere(tmp_path, monkeypatch):
    """A package that brings ``mystore://``, of which nothing is opened here."""
    (tmp_path / "mystore-1.dist-info").mkdir()
    (tmp_path / "mystore-1.dist-info/METADATA").write_text("Metadata-Version: 2.1\nName: mystore\nVersion: 1\n")
    (tmp_path / "mystore-1.dist-info/entry_points.txt").write_text(f"[{GROUP}]\nmystore = mystore:open_it\n")
    monkeypatch.syspath_prepend(tmp_path)


@pytest.fixture
def connection(monkeypatch):
    """Return what a connection to a store says."""

    def make(host, password=None, aws=None, **extra):
        said = {"conn_type": "coordination", "host": host, "password": password, "extra": extra}
        if aws is not None:
            said["extra"]["aws_conn_id"] = "amazon"
            monkeypatch.setenv("AIRFLOW_CONN_AMAZON", json.dumps({"conn_type": "aws", **aws}))
        monkeypatch.setenv("AIRFLOW_CONN_STORE", json.dumps(said))
        return CoordinationHook("store").connection

    return make


def tenure():
    return HandOver(
        source='fl"ights',
        partition_prefix=None,
        key="{{ $HOME }}",
        fence=Fence(7, "3f9c"),
        owner="host/dag/run/task/0/1",
        settings=Settings(no_progress_timeout=timedelta(minutes=5)),
        store_id="s",
    )


@pytest.mark.parametrize(("driver", "opens"), CELLS)
def test_every_combination_is_decided(connection, driver, opens):
    said = connection(**STORES[opens])
    assert what_opens(said) is opens
    route = route_of(driver, opens)
    if route is Route.REFUSED:
        with pytest.raises(SettingsError) as refused:
            inputs_for(said, driver)
        assert CANARY not in str(refused.value)
        return
    inputs = inputs_for(said, driver).with_tenure(tenure())
    assert CANARY not in str(inputs.configuration)
    assert bool(inputs.configuration) == (route is Route.CONFIGURATION)
    assert CANARY not in str(inputs.environment) or opens is Opens.KEYS, "Spark's own S3 needs them"
    assert "COORDINATION_STORE" not in inputs.environment
    assert (inputs.envelope is not None) == (route is Route.FILE)


@pytest.mark.parametrize("opens", [opens for opens in Opens if MATRIX[Driver.KUBERNETES][opens] is not Route.REFUSED])
def test_on_kubernetes_a_named_secret_carries_the_store(connection, opens):
    inputs = inputs_for(connection(**STORES[opens], driver_secret="coordination:store"), Driver.KUBERNETES)
    assert inputs.configuration == {"spark.kubernetes.driver.secretKeyRef.COORDINATION_STORE": "coordination:store"}


@pytest.mark.parametrize(
    ("driver", "prefix"),
    [(Driver.YARN, "spark.yarn.appMasterEnv."), (Driver.KUBERNETES, "spark.kubernetes.driverEnv.")],
)
def test_a_configuration_holds_words_that_no_shell_changes(connection, driver, prefix):
    sent = inputs_for(connection(SQL), driver).with_tenure(tenure()).configuration
    assert set(sent) == {f"{prefix}COORDINATION_STORE", f"{prefix}COORDINATION_HANDOVER"}
    assert not set("".join(sent.values())) & set("\"'$`\\ {}()&;|<>*?!#\n")
    assert from_word(sent[f"{prefix}COORDINATION_STORE"]) == SQL
    assert HandOver.from_json(from_word(sent[f"{prefix}COORDINATION_HANDOVER"])) == tenure()


def test_an_aws_connection_that_names_places_and_a_role_goes_in_the_open(connection):
    aws = {"extra": {"region_name": "eu-west-3", "role_arn": ROLE}}
    sent = inputs_for(connection("dynamodb://Table", aws=aws), Driver.YARN).configuration
    assert from_word(sent.pop("spark.yarn.appMasterEnv.COORDINATION_STORE")) == (
        "dynamodb://Table?sts_role_arn=arn%3Aaws%3Aiam%3A%3A123456789012%3Arole%2FWorker"
    )
    assert sent == {
        "spark.yarn.appMasterEnv.AWS_REGION": "eu-west-3",
        "spark.yarn.appMasterEnv.AWS_DEFAULT_REGION": "eu-west-3",
    }


@pytest.mark.parametrize(
    "aws",
    [
        {"login": "AKIA", "password": CANARY},
        {"extra": {"profile_name": "mine"}},
        {"extra": {"role_arn": ROLE}},
        {"extra": {"service_config": {"s3": {"endpoint_url": f"http://me:{CANARY}@s3:9000"}}}},
    ],
    ids=["keys", "profile", "role", "endpoint"],
)
def test_beside_postgresql_what_a_driver_elsewhere_lacks_for_s3_is_refused(connection, aws):
    with pytest.raises(SettingsError) as refused:
        inputs_for(connection(SQL, aws=aws), Driver.YARN)
    assert CANARY not in str(refused.value)
    assert "Give the driver an identity of its own" in str(refused.value)


@pytest.mark.parametrize(("driver", "opens"), [cell for cell in CELLS if cell[0] is not Driver.WORKER])
def test_a_job_that_knows_nothing_of_leases_gets_nothing_elsewhere(connection, driver, opens):
    said = connection(**STORES[opens])
    if opens is Opens.MEMORY:
        with pytest.raises(SettingsError, match="lives in one process"):
            inputs_for(said, driver, foreign=True)
        return
    inputs = inputs_for(said, driver, foreign=True).with_tenure(tenure())
    assert inputs.configuration == {}
    assert set(inputs.environment) == {"COORDINATION_HANDOVER"}


@pytest.mark.parametrize(("driver", "opens"), list(REMEDIES))
def test_a_refusal_says_what_to_do_instead(connection, driver, opens):
    with pytest.raises(SettingsError) as refused:
        inputs_for(connection(**STORES[opens]), driver)
    assert str(refused.value) == (
        f"deploy_mode='cluster': starts the driver {driver}, where what opens the store "
        f"({opens.replace('`', '')}) could only go as an argument, for everyone on the host to read. "
        f"{REMEDIES[driver, opens]}"
    )


def test_an_sqlite_file_is_no_store_for_a_driver_elsewhere(connection):
    with pytest.raises(SettingsError) as refused:
        inputs_for(connection(**STORES[Opens.FILE]), Driver.YARN)
    assert str(refused.value).startswith(
        "deploy_mode='cluster': starts the driver on YARN, on another machine, which does not see the SQLite file "
        "of the store. Use client mode, or: Set two things:"
    )


def test_a_password_in_the_urls_query_is_one(connection):
    assert what_opens(connection(f"{SQL}?password={CANARY}")) is Opens.SQL_PASSWORD
    assert what_opens(connection(f"{SQL}?passfile=/etc/c.pgpass&sslmode=verify-full")) is Opens.SQL


def test_every_place_of_a_driver_has_a_mode():
    assert {mode.driver for mode in MODES} == set(Driver)


def test_a_secret_that_is_no_name_and_key_is_refused(connection):
    with pytest.raises(SettingsError) as refused:
        connection(SQL, driver_secret="coordination")
    assert str(refused.value) == (
        "connection store driver_secret='coordination': does not name a key of a Kubernetes secret. "
        "Write it as NAME:KEY"
    )
