"""A person's rows gone: the steps of the how-to as they are written there, then a search byte by byte."""

from __future__ import annotations

import json
import re
import shlex
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from airflow_coordination.cli.standalone import main
from airflow_coordination.compaction import CompactionConfig
from airflow_coordination.leases import PartitionIdentifier, SourceCoordinator
from airflow_coordination.planning.view import changing
from airflow_coordination.protocol.beside.parts import parts_of
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.protocol.writes import Act, Action
from airflow_coordination.spark import Complete, drain
from airflow_coordination.values.times import Randomness

PAGE = Path("docs/how-to/delete-for-a-request.md")
PERSON, OTHER = "ada.lovelace.7f3a", "grace.hopper.51b2"
KEY = "2013-01-02"
DAYS = ["2013-01-01", KEY, "2013-01-03"]
CONFIG = CompactionConfig(
    "clean", granularity="MONTH", skip_offset_from_latest="P0D", interval_from_key="%Y-%m-%d", compression="none"
)


def steps() -> Iterator[list[str]]:
    """Yield the commands of the page up to where it says that the rows are gone."""
    text = PAGE.read_text().split("## What still holds them")[0]
    for line in re.findall(r"^\$ airflow coordination (.*)$", text, re.MULTILINE):
        yield shlex.split(line)


class Request:
    """A source with a person among others, and where they are found."""

    def __init__(self, spark: Any, store: PartitionStore, url: str, root: str) -> None:
        self.spark, self.store, self.url, self.root = spark, store, url, root
        self.flights = SourceCoordinator(store, "flights", "a test")

    def ingest(self, partitions: int, *people: str) -> None:
        """Let whatever can be acquired publish, uncompressed: a search of bytes finds what is there."""

        def run(spark, lease):
            rows = [(lease.partition.key, person, str(number)) for number, person in enumerate(people)]
            with lease.publish("clean") as block:
                spark.createDataFrame(rows, "day string, person string, n string").coalesce(1).write.option(
                    "compression", "none"
                ).parquet(block.path)
            return Complete(interval=f"{lease.partition.key}/P1D")

        done = drain(run, store=self.store, source="flights", spark=self.spark, output_root=self.root, max_leases=None)
        assert (done.completed, done.errors) == (partitions, ())

    def typed(self, *words: str) -> None:
        """Type a command as the page has it, on this store and root; Spark's in a process of its own."""
        row = [self.root if word == "s3://bucket/out" else word for word in words] + ["--store", self.url]
        if row[0] != "compaction":
            assert main(row) == 0, row
            return
        command = [sys.executable, "-m", "airflow_coordination", *row]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr

    def in_branch(self) -> None:
        """Run the partition in a branch that is rolled back afterwards."""
        documents, now = self.flights.documents, self.store.now()
        parts_of(self.store).enabling.enable_branches()
        documents.change_view(lambda view: changing.begun(view, {}, None, "ana", "late", now)[0], "ana", "late")
        documents.change_view(lambda view: changing.complete(view, 1, 1, None), "ana", "late")
        seen = self.flights.partition(KEY)
        op = Randomness().op_id()
        act = Act(source=seen.source, key=KEY, op=op, action=Action.RESET, seen=seen, by="ana", why="late", branch=1)
        assert self.store.act(act).applied
        self.ingest(1, PERSON, OTHER)
        documents.change_view(lambda view: changing.published(view, 1, now), "ana", "late")
        documents.change_view(lambda view: changing.rolled_back(view, 1, now), "ana", "wrong")

    def holding(self, text: str) -> list[str]:
        """The files below the root that have a text in them or in their names, and the store's own files."""
        files = [path for path in Path(self.root).rglob("*") if path.is_file()]
        return sorted(
            str(path) for path in [*files, *self._store()] if text.encode() in path.read_bytes() + bytes(path)
        )

    def _store(self) -> list[Path]:
        file = Path(self.url.removeprefix("sqlite:///"))
        with sqlite3.connect(file) as connection:
            connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return list(file.parent.glob(f"{file.name}*"))


@pytest.mark.long
def test_a_persons_rows_are_gone_after_the_steps_of_the_page(spark, store, store_url, output_root) -> None:
    request = Request(spark, store, store_url, output_root)
    request.flights.create_partitions([PartitionIdentifier(KEY, payload={"for": PERSON}), *DAYS])
    request.ingest(len(DAYS), PERSON, OTHER)
    request.typed("compaction", "plan", "flights", "--config", json.dumps(CONFIG.to_json()), "--yes")
    request.typed("compaction", "run", "flights", "--output-root", output_root, "--master", "local[1]")
    request.in_branch()
    before = request.holding(PERSON)
    assert len(before) == 1 + 3 + 1 + 1, before  # the store, three originals, what was merged, and the branch's
    for other in ("2013-01-01", "2013-01-03"):  # the person was there on each of these days, too
        request.flights.people.reset(other, "ana", "request 4711")
    request.ingest(2, OTHER)
    for words in steps():
        if words[0] == "compaction":
            request.flights.create_partitions([PartitionIdentifier(KEY, payload={"for": "nobody"})])
            request.ingest(1, OTHER)
            words += ["--master", "local[1]"]
        request.typed(*words)
    assert request.holding(PERSON) == []
    assert request.holding(OTHER)
