"""Opening stores: every form that a user may write, and what each mistake is answered with."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from airflow_coordination.stores import StoreConfig, open_store, parse_config
from airflow_coordination.values.input_errors import SettingsError

SEED = """
source_coordination:
  partition_prefix: my-partition-prefix
  store:
    dynamodb:
      table_name: "DataPrepperSourceCoordinationStore"
      region: "us-east-1"
      sts_role_arn: "arn:aws:iam::000000000000:role/SourceCoordinationTableRole"
      ttl: "P7D"
      skip_table_creation: true
"""
DATA_PREPPER_CONFIG = "ssl: false\nserver_port: 4900\n" + SEED + "peer_forwarder:\n  port: 4994\n"


@pytest.mark.parametrize("text", [SEED, DATA_PREPPER_CONFIG])
def test_the_seeds_object_is_taken_verbatim(text: str) -> None:
    config = parse_config(text)
    assert (config.kind, config.partition_prefix) == ("dynamodb", "my-partition-prefix")
    assert dict(config.options)["table_name"] == "DataPrepperSourceCoordinationStore"


@pytest.mark.parametrize(
    "where",
    [
        {"store": {"in_memory": None}},
        {"store": {"in_memory": {}}},
        {"source_coordination": {"store": {"in_memory": None}}},
        {"source_coordination": None},
        {"partition_prefix": None},
        "source_coordination:\n  store:\n    in_memory:\n",
        '{"store": {"in_memory": null}}',
        "memory://",
    ],
)
def test_in_memory_is_the_default_and_has_many_forms(where: Any) -> None:
    assert parse_config(where) == StoreConfig("in_memory", "memory://")


def test_sql_options_come_with_the_url(tmp_path: Path) -> None:
    sql = {"url": "postgresql://ana@db.example/c", "connect_timeout": 7, "statement_timeout": 3}
    store = open_store(json.dumps({"store": {"sql": sql}}))
    assert store.reference == "postgresql+psycopg://ana@db.example/c?connect_timeout=7&statement_timeout=3"
    assert (
        open_store({"store": {"sql": {"url": f"sqlite:///{tmp_path}/s.db"}}}).reference == f"sqlite:///{tmp_path}/s.db"
    )


def test_a_reference_opens_the_same_store_and_never_carries_a_password(sqlite_url: str) -> None:
    store = open_store(sqlite_url)
    store.setup()
    assert store.reference is not None
    assert open_store(store.reference).store_id == store.store_id
    secret = open_store("postgresql://ana:s3cret@db.example/c?sslpassword=s3cret2")
    assert secret.reference is None
    assert secret.description == "postgresql+psycopg://ana@db.example/c"
    assert "s3cret" not in repr(parse_config("postgresql://ana:s3cret@db.example/c"))


def test_memory_stores_are_new_or_shared_by_name() -> None:
    assert open_store("memory://") is not open_store("memory://")
    assert open_store("memory://one") is open_store("memory://one")
    assert open_store("memory://one") is not open_store("memory://two")
    store = open_store("memory://")
    assert open_store(store) is store


MISTAKES: list[tuple[Any, str]] = [
    ({"stor": {}}, "source_coordination.stor='stor': is not an option here. Did you mean 'store'?"),
    ({"store": {"dynamo": {}}}, "Did you mean 'dynamodb'?"),
    ({"store": {"dynamodb": {"table": "x"}}}, "Did you mean 'table_name'?"),
    ({"store": {"sql": {"ulr": "x"}}}, "source_coordination.store.sql.ulr='ulr': is not an option here."),
    ({"store": {"in_memory": {"x": 1}}}, "source_coordination.store.in_memory.x="),
    ({"store": {"sql": {}, "in_memory": None}}, "does not name one store"),
    ({"store": {}}, "does not name one store"),
    ({"store": {"sql": {}}}, "source_coordination.store.sql.url='NoneType': is missing or no text"),
    ({"store": {"sql": {"url": "memory://"}}}, "is not the URL of an SQL database"),
    ({"store": {"sql": "postgresql://ana:s3cret@h/d"}}, "is str, not an object"),
    (
        {"partition_prefix": 12},
        "source_coordination.partition_prefix=12: is not a text; Data Prepper takes what is written there for one. "
        "Write it in quotes, such as '12', or leave it out",
    ),
    (
        {"partition_prefix": ""},
        "partition_prefix='': is empty, which no source here can have. Leave it out, or give a name",
    ),
    (
        "ssl: false\nsource-coordination:\n  store:\n    in_memory:\n",
        "source-coordination='source-coordination': is not known here. Did you mean 'source_coordination'?",
    ),
    ({"sourceCoordination": {}}, "Did you mean 'source_coordination'?"),
    ("mysql://ana:s3cret@h/d", "store='mysql://ana@h/d': is not the URL of a store"),
    ("postgresql+asyncpg://ana:s3cret@h/d", "names the driver 'postgresql+asyncpg'"),
    ("postgresql://ana:s3/cr:et@h:port/d", "is no database URL"),
    ("nonsense", "is neither a URL nor a source_coordination object"),
    ("a: [", "is neither a URL nor JSON nor YAML"),
    ("sqlite://", "is not an absolute path. Write sqlite:////absolute/path.db"),
    ("sqlite:///relative.db", "is not an absolute path"),
    ("sqlite:////no/such/place/c.db", "its directory /no/such/place does not exist. Create it first"),
    ("postgresql+psycopg://u@h/d?sslmode=a&sslmode=b", "gives an option twice"),
    ("sqlite:///relative.db?password=s3cret", "has options that SQLite does not know: password"),
    ("sqlite://ana:s3cret@h/relative.db", "store='sqlite://ana@h/relative.db': is not an absolute path"),
    ("sqlite:////proc/c.db?pool_size=3", "has options that SQLite does not know: pool_size"),
    ("postgresql://h/d?statement_timeout=soon", "statement_timeout='soon': is no number of seconds above zero"),
    (7, "store='int': is no place of a store"),
    (None, "store='NoneType': is no place of a store"),
]


@pytest.mark.parametrize(("where", "message"), MISTAKES)
def test_c5_c6_a_mistake_is_named_with_its_remedy_and_without_its_password(where: Any, message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        open_store(where)
    assert message in str(caught.value)
    error: BaseException | None = caught.value
    while error is not None:
        assert "s3" not in f"{error} {error.args}"
        error = error.__cause__


@pytest.mark.parametrize(
    ("kind", "refused"),
    [("nfs4", True), ("cifs", True), ("fuse.sshfs", True), ("9p", True), ("ext4", False), ("overlay", False)],
)
def test_network_file_systems_are_refused(tmp_path: Path, kind: str, refused: bool) -> None:
    from airflow_coordination.stores.sql.sqlite import check_place

    shared = tmp_path / "with space"
    shared.mkdir()
    point = str(shared).replace(" ", "\\040")
    mounts = f"/dev/vda1 / ext4 rw 0 0\nserver:/x {point} {kind} rw 0 0\nproc /proc proc rw 0 0\n"
    if not refused:
        check_place(shared / "c.db", mounts)
        return
    with pytest.raises(SettingsError, match=f"is on a network file system .{kind}.. Use a directory of a local disk"):
        check_place(shared / "c.db", mounts)


def test_a_directory_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o555)
    code = f"from airflow_coordination.stores import open_store; open_store('sqlite:///{closed}/c.db')"
    as_others = ["setpriv", "--bounding-set", "-dac_override"] if os.geteuid() == 0 else []
    finished = subprocess.run(
        [*as_others, sys.executable, "-c", code], capture_output=True, text=True, cwd=Path.cwd(), check=False
    )
    assert "is not writable. Give this user the right" in finished.stderr


def test_the_room_is_cheap_to_import() -> None:
    code = "import sys, airflow_coordination.stores; print([m for m in ('sqlalchemy', 'yaml') if m in sys.modules])"
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=Path.cwd(), check=True)
    assert finished.stdout == "[]\n"


def test_an_external_id_is_shown_nowhere() -> None:
    role = "arn:aws:iam::000000000000:role/SourceCoordinationTableRole"
    options = {"table_name": "leases", "region": "us-east-1", "sts_role_arn": role, "sts_external_id": "canary-id"}
    store = open_store({"store": {"dynamodb": options}})
    assert "canary" not in store.description
    assert role.rpartition("/")[2] in store.description
    assert store.reference is None


def test_without_boto3_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("airflow_coordination.stores.dynamodb")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "boto3", None)
    monkeypatch.setitem(sys.modules, "boto3.dynamodb", None)
    monkeypatch.setitem(sys.modules, "boto3.dynamodb.conditions", None)
    monkeypatch.setitem(sys.modules, "boto3.dynamodb.types", None)
    with pytest.raises(SettingsError, match=r"needs boto3.*pip install 'airflow-coordination\[aws\]'"):
        open_store("dynamodb://leases?region=us-east-1")
