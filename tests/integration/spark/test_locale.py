"""A Spark whose locale is C, and names beyond ASCII: said before the work, or beside the error."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.tree import ROOT

WORK = """
import sys
from datetime import timedelta
from pathlib import Path
from pyspark.sql import SparkSession
from airflow_coordination import Complete, SourceCoordinator, drain, open_store
from airflow_coordination.leases import SettingsError
from airflow_coordination.sources import object_listing, spark_paths

home = Path(sys.argv[1])
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
store = open_store(f"sqlite:///{home / 'store.db'}")
store.setup()

def read(spark, lease):
    spark.read.csv(spark_paths(lease.partition.payload), header=True).count()
    return Complete()

try:
    drain(read, store=store, source="s", spark=spark, output_root=str(home / "K\\u00f6ln"))
except SettingsError as error:
    print("refused:", ascii(str(error)))
listed = object_listing(str(home / "in"), scan=timedelta(0))
done = drain(read, store=store, source="s", spark=spark, supplier=listed, output_root=str(home / "out"))
print("failed:", [ascii(text.splitlines()[-1]) for _, text in done.errors])
spark.stop()
"""


@pytest.mark.spark
@pytest.mark.long
def test_e10_a_spark_in_the_locale_c_says_so(tmp_path: Path) -> None:
    """E10: Python listed a name that Java could not open, and the message did not say why."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "Zürich.csv").write_text("v\n1\n")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("LC_", "LANG"))}
    environment |= {"LC_ALL": "C", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", WORK, str(tmp_path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    refused, failed = done.stdout.replace("\\", "").splitlines()[-2:]
    assert "has letters that Spark's JVM cannot name: the locale it was started with has ANSI_X3.4-1968" in refused
    assert "Start Spark with a locale of UTF-8, for example LC_ALL=C.UTF-8" in refused
    assert "its key or payload has letters that Spark's JVM cannot name" in failed
