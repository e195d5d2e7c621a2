"""What ``doctor`` finds around the store: Java, Airflow's configuration and connections, the output root."""

from __future__ import annotations

import json

import pytest

from airflow_coordination.cli.doctor_airflow import retries
from airflow_coordination.cli.standalone import main
from airflow_coordination.hooks.policies import POLICIES
from airflow_coordination.leases import Owner, Place, SourceCoordinator
from airflow_coordination.outputs import Manifest
from airflow_coordination.outputs.layout import partition_directory
from airflow_coordination.stores import open_store
from airflow_coordination.stores.diagnostics import Verdict
from airflow_coordination.systems.objects.storage import write_bytes
from airflow_coordination.values.program import BY_PYTHON, PROGRAM

pytestmark = pytest.mark.usefixtures("java")


def give(words):
    """Give a command to the program that messages name."""
    if PROGRAM == BY_PYTHON:
        from airflow_coordination.cli import airflow_commands

        airflow_commands.main(words)
        return
    from airflow.cli import cli_parser

    args = cli_parser.get_parser().parse_args(["coordination", *words])
    args.func(args)


@pytest.fixture
def doctor(capsys, monkeypatch, tmp_path):
    """Run ``airflow coordination doctor``; return the rows by what was looked at."""
    store = {"conn_type": "coordination", "host": f"sqlite:///{tmp_path}/c.db"}
    monkeypatch.setenv("AIRFLOW_CONN_C", json.dumps(store))
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", "spark://local")
    monkeypatch.setenv("AIRFLOW__COORDINATION__OUTPUT_ROOT", str(tmp_path / "out"))
    main(["store", "migrate", "--store", store["host"]])
    capsys.readouterr()  # what Airflow says when it is first loaded
    words = ["doctor", "--conn-id", "c", "-o", "json"]

    def run():
        code = 0
        try:
            give(words)
        except SystemExit as ended:
            code = ended.code
        rows = {row["check"]: row for row in json.loads(capsys.readouterr().out)}
        assert code == int(any(row["verdict"] == "wrong" for row in rows.values()))
        return rows

    return run


def test_a3_doctor_finds_a_whole_installation_well(doctor, tmp_path):
    """A3: and leaves nothing behind."""
    rows = doctor()
    assert list(rows) == [
        "pyspark",
        "java",
        "provider",
        "settings",
        "airflow name",
        "retries",
        "spark connection",
        "output root",
        "store",
        "clock",
    ]
    unknown = [] if POLICIES else ["retries"]
    assert [name for name, row in rows.items() if row["verdict"] != "ok"] == unknown
    assert list((tmp_path / "out").iterdir()) == []


def test_doctor_says_that_an_airflow_before_3_3_asks_nobody_about_retries():
    [finding] = retries(False)
    assert finding.verdict is Verdict.UNKNOWN
    assert "retry_delay" in finding.found
    assert "retries=2" in finding.remedy


@pytest.mark.parametrize(("home", "version"), [("no/such", None), (None, "25.0.1"), (None, "11.0.2")])
def test_a3_doctor_finds_that_java_is_missing_or_does_not_fit(doctor, java, monkeypatch, home, version):
    """A3: Spark 4 runs on 17 and 21."""
    if home:
        monkeypatch.setenv("JAVA_HOME", home)
    else:
        java(version)
    row = doctor()["java"]
    assert row["verdict"] == "wrong"
    assert row["found"].startswith("JAVA_HOME is no/such, and there is no bin/java" if home else version[:2])
    assert row["remedy"].startswith("Install Java 17 or 21, and set JAVA_HOME")


def test_a3_doctor_finds_that_there_is_no_java_at_all(doctor, monkeypatch):
    """A3: the driver would end before it began."""
    monkeypatch.setenv("PATH", "/no/such")
    assert doctor()["java"]["found"] == "JAVA_HOME is not set, none on PATH"


def test_a3_doctor_finds_that_there_is_no_spark_connection(doctor, monkeypatch):
    """A3: the provider then submits to YARN without a word."""
    monkeypatch.delenv("AIRFLOW_CONN_SPARK_DEFAULT")
    row = doctor()["spark connection"]
    assert (row["verdict"], row["found"][:39]) == ("wrong", "there is no connection spark_default; t")
    assert "airflow connections add spark_default --conn-type spark" in row["remedy"]


def test_a3_doctor_finds_an_output_root_that_cannot_be_written(doctor, monkeypatch, tmp_path):
    """A3: a file in its place, which not even root can write below."""
    (tmp_path / "file").touch()
    monkeypatch.setenv("AIRFLOW__COORDINATION__OUTPUT_ROOT", str(tmp_path / "file"))
    row = doctor()["output root"]
    assert row["verdict"] == "wrong"
    assert row["found"].startswith(f"{tmp_path}/file cannot be written: ")
    assert row["remedy"].startswith("Give this user the right to write there, or set another output_root")
    monkeypatch.delenv("AIRFLOW__COORDINATION__OUTPUT_ROOT")
    assert doctor()["output root"]["verdict"] == "unknown"


@pytest.mark.parametrize(
    ("name", "value", "found"),
    [
        ("MAX_FAILURES", "five", "max_failures='five': is no whole number"),
        ("MAX_FAILURES", "0", "max_failures=0: is not a whole number above zero"),
        ("MAX_FAILURE", "7", "[coordination].max_failure='max_failure': is not an option here"),
        ("SWEEP_INTERVAL", "often", "sweep_interval='often': is no number of seconds"),
    ],
)
def test_a3_doctor_finds_settings_that_are_wrong_or_unknown(doctor, monkeypatch, name, value, found):
    """A3: Airflow passes over an option that nobody knows."""
    monkeypatch.setenv(f"AIRFLOW__COORDINATION__{name}", value)
    row = doctor()["settings"]
    assert (row["verdict"], row["found"]) == ("wrong", found)
    if name == "MAX_FAILURE":
        assert row["remedy"] == "Did you mean 'max_failures'?"


def test_a3_doctor_without_airflow_tries_the_output_root_that_it_is_given(capsys, tmp_path):
    """A3: only Airflow's configuration named one; without Airflow nothing was tried."""
    at = f"sqlite:///{tmp_path}/c.db"
    main(["store", "migrate", "--store", at])
    (tmp_path / "file").touch()
    for root, code, found in (("out", 0, "out can be written from here"), ("file", 1, "file cannot be written: ")):
        capsys.readouterr()
        assert main(["doctor", "--store", at, "--output-root", str(tmp_path / root), "-o", "json"]) == code
        [row] = [row for row in json.loads(capsys.readouterr().out) if row["check"] == "output root"]
        assert row["found"].startswith(f"{tmp_path}/{found}")
        assert row["verdict"] == ("wrong" if code else "ok")


def test_d9_doctor_lists_published_manifests_that_readers_refuse(capsys, tmp_path):
    """D9: what was published before readers looked is known before somebody reads it."""
    url = f"sqlite:///{tmp_path}/c.db"
    main(["store", "migrate", "--store", url])
    coordinator = SourceCoordinator(open_store(url), source="flights", owner="a test")
    coordinator.create_partitions([f"k{number:02}" for number in range(12)])

    def published(key, **how):
        lease = coordinator.acquire_partition(key)
        facts = {"source": lease.partition.source, "key": key, "dataset": "d", "fence": str(lease.fence)}
        place = f"{tmp_path}/_attempts/{partition_directory(lease.partition.source, key)}/_attempt=1-x/_block=d-1"
        manifest = Manifest(directory=place, **facts, **how)
        write_bytes(manifest.address, manifest.to_bytes())
        coordinator.complete(lease, [manifest.block("replace")])

    def found(*more):
        capsys.readouterr()
        main(["doctor", "--store", url, "-o", "json", *more])
        return [row for row in json.loads(capsys.readouterr().out) if row["check"] == "published output"]

    published("k00", format="csv", options={"header": "true"})
    for more in ([], ["flights"]):
        [row] = found(*more)
        assert (row["verdict"], row["found"][:56]) == ("ok", "readers understand the 1 manifest(s) that were looked at")
    for number in range(1, 12):
        published(f"k{number:02}", format="jdbc", options={"url": "jdbc:derby:x"})
    for more in ([], ["flights"]):
        rows = found(*more)
        assert [row["verdict"] for row in rows] == ["wrong"] * 11
        assert (
            "-k01/_attempt=1-x/_block=d-1/_manifest.json: it asks for what is not read here: format="
            in rows[0]["found"]
        )
        assert rows[0]["remedy"].startswith("Reset the partition to publish its output again")
        assert rows[10]["found"] == "readers refuse 1 more manifests"


def test_e6_doctor_names_a_second_airflow_on_one_source(doctor, monkeypatch, tmp_path):
    monkeypatch.setenv("AIRFLOW__COORDINATION__AIRFLOW_ID", "production")
    store = open_store(f"sqlite:///{tmp_path}/c.db")
    mine, theirs = (Owner.of_task("h", "d", "r", "t", -1, 1, Place(name)).text for name in ("production", "staging"))
    one, other = SourceCoordinator(store, "flights", mine), SourceCoordinator(store, "flights", theirs)
    one.create_partitions(["a", "b"])
    one.get_next_partition()
    assert "airflows" not in doctor()
    other.get_next_partition()
    rows = doctor()
    assert rows["airflow name"]["found"] == "owners of leases name this Airflow 'production'"
    row = rows["airflows"]
    assert row["found"] == "2 Airflows hold leases of source 'flights|PARTITION': 'production', 'staging'"
    assert "partition_prefix" in row["remedy"]


def test_e6_doctor_says_that_a_name_cannot_be(doctor, monkeypatch):
    monkeypatch.setenv("AIRFLOW__COORDINATION__AIRFLOW_ID", "a/b")
    row = doctor()["airflow name"]
    assert row["verdict"] == "wrong"
    assert "airflow_id='a/b'" in row["found"]
