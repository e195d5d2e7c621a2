"""A task of real Airflow whose driver calls its function once for many leases."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from airflow_coordination.leases import Outcome, SourceCoordinator
from airflow_coordination.stores import open_store
from tests.integration.airflow.one_try import next_try
from tests.integration.airflow.test_worker_pool import _kill_all_of, signs  # noqa: F401
from tests.integration.spark.drivers import JOBS, ROOT, eventually

pytestmark = [pytest.mark.slow, pytest.mark.spark, pytest.mark.timeout(400)]

KEYS = ("a", "b", "c", "d")


def test_a_retry_of_a_killed_task_completes_them_all(tmp_path: Path, store_url, signs):  # noqa: F811
    store = open_store(store_url)
    coordinator = SourceCoordinator(store, "flights", "test")
    coordinator.create_partitions(KEYS)
    arguments = {
        "source": "flights",
        "application": str(JOBS / "together.py"),
        "conn_id": "spark_pool",
        "conf": {"spark.ui.enabled": "false"},
        "output_root": str(tmp_path / "out"),
        "max_leases": None,
        "together": 200,
        "hint": "b",
    }
    (signs / "written.hold").touch()
    log = tmp_path / "first.log"
    command = [sys.executable, "-m", "tests.integration.airflow.one_try", json.dumps(arguments)]
    with log.open("w") as stream:
        first = subprocess.Popen(command, stdout=stream, stderr=stream, cwd=ROOT)
    try:
        eventually(lambda: (signs / "written").exists() or first.poll() is not None)
        assert first.poll() is None, log.read_text()
    finally:
        _kill_all_of(first)
    assert [coordinator.partition(key).status for key in KEYS] == ["ASSIGNED"] * 4
    assert store.heads("flights|PARTITION", "rows") == []
    os.unlink(signs / "written.hold")
    assert next_try(arguments)
    for key in KEYS:
        partition = coordinator.partition(key)
        assert partition.status == "COMPLETED"
        assert partition.endings[-1].outcome is Outcome.COMPLETED
        assert partition.failures == 0
    heads = store.heads("flights|PARTITION", "rows")
    assert [(head.key, sum(block.rows for block in head.blocks)) for head in heads] == [(key, 10) for key in KEYS]
    store.close()
