"""Who has the store's worker role alone writes notes: nothing outside of the source's own settings comes of it (F4)."""

from __future__ import annotations

import hashlib
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import SimpleNamespace

import psycopg
import pytest
from sqlalchemy.engine import make_url

from airflow_coordination import SourceCoordinator
from airflow_coordination.cli.standalone import main
from airflow_coordination.duties.follow_ups import LISTS
from airflow_coordination.sources import object_listing
from airflow_coordination.stores import open_store
from airflow_coordination.stores.sql.grants import SqlRole, grants
from airflow_coordination.systems.objects.file_marks import marks
from tests.integration.stores.test_grants import Place, place

__all__ = ["place"]
pytestmark = pytest.mark.postgres


@pytest.fixture
def called() -> Iterator[tuple[str, list[str]]]:
    """A server of HTTP, S3 and SQS that takes everything, and what was asked of it."""
    asked: list[str] = []

    class Server(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(f"{self.command} {self.path}")
            self.rfile.read(int(self.headers.get("content-length") or 0))
            self.send_response(200)
            self.send_header("content-length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *_: object) -> None:
            return None

    for method in ("GET", "HEAD", "PUT", "DELETE"):
        setattr(Server, f"do_{method}", Server.do_POST)
    server = HTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", asked
    server.shutdown()
    server.server_close()


@pytest.fixture
def broker() -> Iterator[socket.socket]:
    """Where a Kafka would listen; nobody may connect."""
    with closing(socket.create_server(("127.0.0.1", 0))) as listening:
        yield listening


def deletion(file: Path) -> dict[str, object]:
    [mark] = marks([str(file)])
    assert mark is not None
    return {"kind": "delete objects", "objects": [[str(file), *mark.to_json()]]}


def orders(folder: Path, http: str, kafka: str) -> dict[str, object]:
    """What an attacker would like to be done with the rights of the supplier's process."""
    victim, link = folder / "others/victim.parquet", folder / "in/link"
    for file in (victim, folder / "in/mine.json"):
        file.parent.mkdir(exist_ok=True)
        file.write_text("records")
    link.symlink_to(victim.parent)
    through = deletion(victim) | {"objects": [[f"{link}/victim.parquet", *deletion(victim)["objects"][0][1:]]]}  # type: ignore[index]
    listed = folder / "published" / LISTS / "list.json"
    listed.parent.mkdir(parents=True)
    listed.write_text("[]")
    digest = hashlib.sha256(b"[]").hexdigest()
    return {
        "00 mine": [deletion(folder / "in/mine.json")],
        "file": [deletion(victim)],
        "link": [through],
        "dots": [deletion(victim) | {"objects": [[f"{folder}/in/../others/victim.parquet", 7, None, None]]}],
        "bucket": [{"kind": "delete objects", "objects": [["s3://others/x", 7, None, None]]}],
        "url": [{"kind": "call url", "url": f"{http}/latest/meta-data", "body": 1, "partition": ["s", "k"]}],
        "queue": [{"kind": "delete messages", "queue": f"{http}/q", "receipts": ["r"], "region": "us-east-1"}],
        "offsets": [
            {"kind": "commit offsets", "servers": kafka, "group": "g", "offsets": {"t:0": 5}, "options_from": "SECRET"}
        ],
        "list": {"file": str(victim), "digest": "0"},
        "list of another": {
            "file": str(listed),
            "digest": digest,
        },
        "list by http": {"file": f"{http}/list.json", "digest": "0"},
        "odd": ["x"],
    }


def write_notes(place: Place, notes: dict[str, object]) -> None:
    """Write them as a worker may who has nothing but the store's rights."""
    url = make_url(place.url(SqlRole.WORKER)).set(drivername="postgresql", query={})
    row = 'INSERT INTO "team ""a""".coordination_follow_ups VALUES (%s, %s, 1, %s, %s, %s)'
    with psycopg.connect(url.render_as_string(hide_password=False)) as connection:
        for number, (key, note) in enumerate(notes.items()):
            at = 2**62 if number % 2 else 1
            connection.execute(row, ["inputs|PARTITION", key, "x" * 24, json.dumps(note), at])


def test_f4_a_worker_of_the_store_makes_the_supplier_do_nothing_that_is_not_its_own(
    place: Place, tmp_path, called, broker, monkeypatch, capsys
) -> None:
    from airflow_coordination.operators import CreatePartitionsOperator

    place.lives(SqlRole.OWNER, lambda store: store.setup())
    place.sql(*grants(SqlRole.WORKER, place.names(SqlRole.WORKER)))
    http, asked = called
    monkeypatch.setenv("AWS_ENDPOINT_URL", http)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIASUPPLIER")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("SECRET", json.dumps({"sasl.password": "canary"}))
    url = place.url(SqlRole.OWNER)
    monkeypatch.setenv("AIRFLOW_CONN_COORDINATION_DEFAULT", json.dumps({"conn_type": "coordination", "host": url}))
    monkeypatch.setenv("AIRFLOW__COORDINATION__OUTPUT_ROOT", str(tmp_path / "published"))
    notes = orders(tmp_path, http, f"127.0.0.1:{broker.getsockname()[1]}")
    (tmp_path / "in/next.json").write_text("records")
    write_notes(place, notes)
    task = CreatePartitionsOperator(
        task_id="create", source="inputs", supplier=object_listing(tmp_path / "in", scan="once")
    )
    ti = SimpleNamespace(dag_id="d", run_id="r", task_id="create", map_index=-1, try_number=1, stats_tags={})
    assert task.execute({"ti": ti})["created"] == 1

    store = open_store(url)
    left = {note.key for note in SourceCoordinator(store, "inputs", "test").follow_ups.follow_ups()}
    assert left == set(notes) - {"00 mine"}
    assert not (tmp_path / "in/mine.json").exists()
    assert main(["finish-actions", "inputs", "--store", url]) == 1  # nobody is there who would say yes
    assert "--yes" in capsys.readouterr().err
    assert main(["doctor", "--store", url]) == 1
    said = capsys.readouterr().out
    assert "10 note(s) open" in said
    assert "1 note(s) open" in said
    store.close()
    assert (tmp_path / "others/victim.parquet").exists()
    assert (tmp_path / "published" / LISTS / "list.json").exists()
    assert asked == []
    broker.settimeout(0)
    with pytest.raises(BlockingIOError):
        broker.accept()
