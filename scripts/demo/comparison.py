"""The proof: what was published, compared with the source, month by month."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.table import Table

from airflow_coordination import open_store
from airflow_coordination.outputs.published import published_manifests
from demo.data import Digest
from demo.place import PREFIX, STORE, Place
from demo.problems import DemoError, tail

PATIENCE = 600.0
"""Seconds that adding up the published rows may take; 15 are usual."""


def published(place: Place) -> dict[str, Digest]:
    """Return what readers see of each month, added up by a Spark of its own.

    :raises DemoError: when it cannot be read.
    """
    return {key: Digest(*sums) for key, sums in seen_by_readers(place, "demo.published").items()}


def seen_by_readers(place: Place, module: str) -> dict[str, Any]:
    """Return what a program prints that reads what is published, as a process with a Spark of its own.

    :param module: the program; its last line is JSON.
    :raises DemoError: when it cannot be read.
    """
    log = place.root / "comparison.log"
    with log.open("ab") as file:
        done = subprocess.run(
            [sys.executable, "-m", module],
            cwd=Path(__file__).parents[1],
            env=place.environment() | reader(place),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=file,
            timeout=PATIENCE,
            check=False,
        )
    if done.returncode:
        raise DemoError("The published rows could not be read.", f"All of it is in {log}.", tail(log, 15))
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def reader(place: Place) -> dict[str, str]:
    """Return what a process that knows no Airflow needs to read what is published."""
    amazon = place.amazon.variables() if place.amazon else {}
    return {**amazon, STORE: place.store, PREFIX: place.partition_prefix or ""}


def comparison(source: Mapping[str, Digest], found: Mapping[str, Digest]) -> Table:
    """Return the comparison as a table; everything that either side has is in it."""
    table = Table(box=None, padding=(0, 2), pad_edge=False)
    table.add_column("   Month", header_style="dim")
    for name in ("Source rows", "Published", "Source checksum", "Published"):
        table.add_column(name, header_style="dim", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for key in sorted(source.keys() | found.keys()):
        mine, theirs = source.get(key, Digest()), found.get(key, Digest())
        equal = "[green]equal[/]" if mine == theirs else "[bold red]DIFFERENT[/]"
        sums = (f"{mine.rows:,}", f"{theirs.rows:,}", f"{mine.checksum:016x}", f"{theirs.checksum:016x}")
        table.add_row(f"   {key}", *sums, equal)
    rows = (sum(digest.rows for digest in side.values()) for side in (source, found))
    table.add_row("   all", *(f"{count:,}" for count in rows), style="bold")
    return table


def shares(place: Place, key: str) -> str:
    """Return whose blocks make up what is published of one partition."""
    manifests = published_manifests(open_store(place.store), "flights", "flights", place.partition_prefix)
    mine = [manifest for manifest in manifests if manifest.key == key]
    return " and ".join(f"{manifest.rows:,} rows by tenure {manifest.fence.split('-')[0]}" for manifest in mine)
