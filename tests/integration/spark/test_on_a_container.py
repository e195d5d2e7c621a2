"""A driver as YARN's containers have it: pyspark as an archive on its path, no SPARK_HOME, a JVM that waits for it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.spark]
JOB = """\
import os

import pyspark

from airflow_coordination.systems.spark.session import driver_session

del os.environ["SPARK_HOME"]
assert ".zip" in pyspark.__file__, pyspark.__file__
{before}
print("rows:", driver_session().range(3).count())
"""


@pytest.mark.parametrize(
    ("before", "said"),
    [
        ("", "rows: 3"),
        ("del os.environ['PYSPARK_GATEWAY_PORT']", "has no jars: this is the client only"),
    ],
    ids=["a JVM waits", "none waits"],
)
def test_the_jars_are_where_the_jvm_is(tmp_path: Path, before: str, said: str) -> None:
    """Nobody looks for them beside an archive; without a JVM they are missed."""
    job = tmp_path / "job.py"
    job.write_text(JOB.format(before=before))
    submit = [Path(sys.executable).with_name("spark-submit"), "--master", "local[1]", job]
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable}
    finished = subprocess.run(submit, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert said in finished.stdout + finished.stderr
    assert finished.returncode == ("rows" not in said)
