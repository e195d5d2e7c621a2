"""C1: a store carries the ``partition_prefix`` of its configuration into all that is made on it."""

import json

import pytest

from airflow_coordination.cli.standalone import main as command_line
from airflow_coordination.hooks.connection import read_connection
from airflow_coordination.hooks.coordination import CoordinationHook
from airflow_coordination.leases import SettingsError, SourceCoordinator
from airflow_coordination.outputs.collector import collect
from airflow_coordination.outputs.published import published_manifests
from airflow_coordination.spark import Complete, drain, read_completed
from airflow_coordination.stores import open_store
from airflow_coordination.stores.config import StoreConfig
from airflow_coordination.systems.objects.storage import OutputError
from airflow_coordination.testing.forwarding import ForwardingStore
from airflow_coordination.values.names import compose_source

OTHER = (
    "partition_prefix='north': is another one than the store's own, 'team', which its source_coordination or its "
    "connection names. Leave it out, or open the store with this one"
)


@pytest.fixture
def block(tmp_path):
    """Data Prepper's object, with a store that is a file."""
    url = f"sqlite:///{tmp_path / 'c.db'}"
    return {"source_coordination": {"partition_prefix": "team", "store": {"sql": {"url": url}}}}


@pytest.fixture
def store(block):
    opened = open_store(block)
    opened.setup()
    yield opened
    opened.close()


@pytest.fixture
def hook(block, monkeypatch):
    said = {"conn_type": "coordination", "extra": json.dumps({"source_coordination": json.dumps(block)})}
    monkeypatch.setenv("AIRFLOW_CONN_PREFIXED", json.dumps(said))
    return CoordinationHook("prefixed")


@pytest.mark.parametrize(
    "kind",
    [
        {"in_memory": None},
        {"sql": {"url": "sqlite:////tmp/never.db"}},
        {"sql": {"url": "postgresql+psycopg://u@nowhere/c"}},
        {"dynamodb": {"table_name": "leases", "region": "us-east-1"}},
    ],
)
def test_c1_every_opened_store_has_its_prefix(kind):
    """C1: whatever the back end is."""
    assert open_store({"partition_prefix": "team", "store": kind}).partition_prefix == "team"
    assert open_store({"store": kind}).partition_prefix is None


def test_c1_finished_work_is_not_handed_out_again_under_another_name(store, block):
    """C1: the coordinators that are made with and without the prefix by hand are those of one source."""
    by_hand = SourceCoordinator(store, "flights", "a", partition_prefix="team")
    by_hand.create_partitions(["k"])
    by_hand.complete(by_hand.acquire_partition("k"))
    plain = SourceCoordinator(open_store(block), "flights", "b")
    plain.create_partitions(["k"])
    assert plain.partition_prefix == "team"
    assert plain.get_next_partition() is None
    assert ForwardingStore(store).partition_prefix == "team"


def test_c1_another_prefix_by_hand_is_an_error_that_names_both(store, hook, tmp_path):
    """C1: in a coordinator, a reader, the collector and a hook."""
    for made in (
        lambda: SourceCoordinator(store, "flights", "a", partition_prefix="north"),
        lambda: published_manifests(store, "flights", "clean", "north"),
        lambda: collect(store, "flights", tmp_path, partition_prefix="north"),
        lambda: hook.coordinator("flights", "a", partition_prefix="north"),
    ):
        with pytest.raises(SettingsError) as refused:
            made()
        assert str(refused.value) == OTHER


def test_c1_readers_follow_the_stores_prefix(store, tmp_path, monkeypatch):
    """C1: what they ask for is the prefixed source, and what stands for blocks of it."""
    asked = []
    monkeypatch.setattr(type(store), "heads", lambda self, source, **_: asked.append(source) or [])
    assert published_manifests(store, "flights", "clean") == []
    assert set(asked) == {compose_source(name, "team", "PARTITION") for name in ("~merged/flights", "flights")}


def test_c1_a_hook_carries_the_prefix_of_its_connection(block, hook, monkeypatch):
    """C1: its store and its coordinators; also where the prefix stands beside a URL, and for an ``aws`` connection."""
    assert hook.get_conn().partition_prefix == "team"
    assert hook.coordinator("flights", "a").partition_prefix == "team"
    assert hook.coordinator("flights", "a", partition_prefix="").partition_prefix == "team"
    aws = {"conn_type": "aws", "login": "a", "password": "b", "extra": '{"region_name": "us-east-1"}'}
    monkeypatch.setenv("AIRFLOW_CONN_AWS", json.dumps(aws))
    extra = json.dumps({"partition_prefix": "team", "aws_conn_id": "aws"})
    said = {"conn_type": "coordination", "host": "dynamodb://leases?region=us-east-1", "extra": extra}
    monkeypatch.setenv("AIRFLOW_CONN_BESIDE", json.dumps(said))
    assert CoordinationHook("beside").get_conn().partition_prefix == "team"


def test_c1_a_connection_with_two_prefixes_is_refused(block):
    """C1: one in the object, another beside it."""
    from airflow.sdk import Connection

    extra = {"source_coordination": json.dumps(block), "partition_prefix": "north"}
    with pytest.raises(SettingsError) as refused:
        read_connection(Connection(conn_id="c", conn_type="coordination", extra=json.dumps(extra)))
    assert str(refused.value) == OTHER


def test_c1_commands_work_under_the_stores_prefix(store, block, capsys):
    """C1: ``status`` shows the sources of this prefix, ``list`` finds them, and another prefix is refused."""
    for prefix, source in (("team", "flights"), ("north", "trains")):
        plain = open_store(block["source_coordination"]["store"]["sql"]["url"])
        SourceCoordinator(plain, source, "a", partition_prefix=prefix).create_partitions(["k"])
    at = ["--store", json.dumps(block), "-o", "json"]
    assert command_line(["status", *at]) == 0
    [row] = json.loads(capsys.readouterr().out)
    assert (row["source"], row["prefix"], row["unassigned"]) == ("flights", "team", 1)
    assert command_line(["list", "flights", *at]) == 0
    assert [row["key"] for row in json.loads(capsys.readouterr().out)] == ["k"]
    assert command_line(["list", "flights", "--partition-prefix", "north", *at]) == 1
    assert OTHER in capsys.readouterr().err


def test_c1_a_store_in_memory_may_be_shared_under_several_prefixes():
    """C1: the one is not given the other's prefix."""
    one, two, plain = (open_store(StoreConfig("in_memory", "memory://c1", (), prefix)) for prefix in ("a", "b", None))
    assert [store.partition_prefix for store in (one, two, plain)] == ["a", "b", None]
    SourceCoordinator(one, "s", "x").create_partitions(["k"])
    assert [source for source, _ in plain.sources()] == ["a|s|PARTITION"]
    assert SourceCoordinator(two, "s", "x").get_next_partition() is None
    assert one.store_id == two.store_id == plain.store_id


@pytest.fixture
def before(block):
    """The store as a version that dropped the prefix has left it: the work is under the name without it."""
    plain = open_store(block["source_coordination"]["store"]["sql"]["url"])
    plain.setup()
    SourceCoordinator(plain, "flights", "a").create_partitions(["k"])
    yield plain
    plain.close()


def test_c1_a_source_that_is_there_without_the_prefix_is_not_unknown(before, block, capsys):
    """C1: after an upgrade, everybody who finds nothing names both, and what to do."""
    for opened, other, remedy in (
        (
            open_store(block),
            "partition_prefix='team': leads to 'team|flights|PARTITION'",
            "leave out the partition_pre",
        ),
        (before, "partition_prefix=None: leads to 'trains|PARTITION'", "set 'team' as partition_prefix where"),
    ):
        source = "flights" if opened is not before else "trains"
        if opened is before:
            SourceCoordinator(before, "trains", "a", partition_prefix="team").create_partitions(["k"])
        for look in ("check_known", "check_prefix"):
            with pytest.raises(SettingsError) as refused:
                getattr(SourceCoordinator(opened, source, "b").looking, look)()
            assert other in str(refused.value)
            assert remedy in str(refused.value)
    assert command_line(["status", "flights", "--store", json.dumps(block)]) == 1
    assert "it knows source 'flights' without a partition_prefix ('flights|PARTITION')" in capsys.readouterr().err


def test_c1_no_source_under_the_prefix_is_said(before, block, capsys):
    """C1: ``status`` was an empty list."""
    assert command_line(["status", "--store", json.dumps(block)]) == 0
    told = capsys.readouterr().err
    assert "There is no source under partition_prefix 'team'; the store has 1 under: none" in told


def test_c1_a_new_source_beside_its_namesake_is_warned_of_once(before, block, caplog):
    """C1: it may be meant so, for deployments share stores; or it is the first thing an upgrade does."""
    prefixed = open_store(block)
    SourceCoordinator(prefixed, "flights", "b").create_partitions(["k"])
    assert "Source team|flights|PARTITION is new in this store and shares nothing with flights|PARTITION" in caplog.text
    assert "leave out the partition_prefix" in caplog.text
    caplog.clear()
    SourceCoordinator(prefixed, "flights", "b").create_partitions(["k2"])
    SourceCoordinator(prefixed, "flights", "b").looking.check_known()
    SourceCoordinator(before, "flights", "b").looking.check_known()
    SourceCoordinator(prefixed, "ships", "b").create_partitions(["k"])
    assert caplog.text == ""


def test_c1_doctor_says_that_the_work_is_under_another_prefix(before, block, capsys):
    """C1."""
    at = ["doctor", "--store", json.dumps(block), "-o", "json"]
    assert command_line(at) == 1
    [found] = [row for row in json.loads(capsys.readouterr().out) if row["check"] == "partition prefix"]
    assert (found["verdict"], found["found"]) == ("wrong", "'team': 0 of the 1 sources are under it")
    assert "leave out the partition_prefix" in found["remedy"]
    SourceCoordinator(open_store(block), "flights", "b").create_partitions(["k"])
    command_line(at)
    [found] = [row for row in json.loads(capsys.readouterr().out) if row["check"] == "partition prefix"]
    assert (found["verdict"], found["found"]) == ("ok", "'team': 1 of the 2 sources are under it")


def test_c1_a_drain_and_a_reader_that_find_nothing_name_both(before, block):
    """C1: they ended with nothing done, and with "has no published output"."""
    with pytest.raises(SettingsError, match=r"leads to 'team\|flights\|PARTITION'"):
        drain(lambda spark, lease: Complete(), store=block, source="flights", spark=None)
    with pytest.raises(OutputError) as refused:
        read_completed(None, store=block, source="flights", dataset="clean")
    told = "It knows 'flights|PARTITION', not 'team|flights|PARTITION': is the partition_prefix right?"
    assert told in str(refused.value)
