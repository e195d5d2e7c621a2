"""What reads no further, as ``head`` does, ends a command without a traceback."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from airflow_coordination.cli.standalone import NOT_READ
from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.stores import open_store


@pytest.mark.parametrize("output", ["plain", "json"])
def test_a_list_that_nobody_reads_to_its_end(tmp_path: Path, output: str) -> None:
    url = f"sqlite:///{tmp_path}/store.db"
    store = open_store(url)
    store.setup()
    SourceCoordinator(store, "s", "me").create_partitions(f"{number:060}" for number in range(2_000))
    store.close()
    command = [sys.executable, "-m", "airflow_coordination", "list", "s", "--limit", "2000"]
    with subprocess.Popen(
        [*command, "--store", url, "-o", output], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline()
        process.stdout.close()  # there is more to come than a pipe holds
        assert process.stderr.read() == ""
    assert process.returncode == NOT_READ
