"""A driver in a container of Hadoop's own YARN, with what a NodeManager gives it and nothing of the test's."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from scripts.java_packages import jars
from tests.engines.yarn import yarn

pytestmark = [pytest.mark.slow, pytest.mark.spark, pytest.mark.long, pytest.mark.timeout(900)]
JOB = """\
import os

import pyspark

from airflow_coordination.systems.spark.session import driver_session

spark = driver_session()
print(os.environ.get("SPARK_HOME"), ".zip" in pyspark.__file__, spark.range(3).count(), spark.sparkContext.master)
"""


def test_a_driver_of_cluster_mode_has_its_session(tmp_path: Path) -> None:
    job = tmp_path / "job.py"
    job.write_text(JOB)
    spark = Path(str(find_spec("pyspark").origin)).parent  # type: ignore[union-attr]
    conf = {
        "spark.yarn.jars": f"local:{spark}/jars/*",
        "spark.yarn.stagingDir": (tmp_path / "staging").as_uri(),
        "spark.yarn.maxAppAttempts": "1",
        "spark.pyspark.python": sys.executable,
        "spark.executor.instances": "1",
        "spark.driver.memory": "512m",
        "spark.executor.memory": "512m",
        "spark.ui.enabled": "false",
    }
    given = [word for name, value in conf.items() for word in ("--conf", f"{name}={value}")]
    submit = [
        Path(sys.executable).with_name("spark-submit"),
        "--master",
        "yarn",
        "--deploy-mode",
        "cluster",
        *given,
        job,
    ]
    with yarn(jars("yarn"), tmp_path / "yarn", hosts=1) as cluster:
        here = {"HADOOP_CONF_DIR": str(cluster.settings), "PYTHONPATH": str(Path(__file__).parents[3])}
        finished = subprocess.run(submit, env=os.environ | here, capture_output=True, text=True, check=False)
        [application] = cluster.applications()
    said = "".join(file.read_text() for file in (tmp_path / "yarn").glob("node*/logs/*/*/stdout"))
    assert (finished.returncode, application["finalStatus"]) == (0, "SUCCEEDED"), said + finished.stderr[-3000:]
    assert "None True 3 yarn" in said
