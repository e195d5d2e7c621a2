"""What a worker must have before a task acquires anything (A2), and what it need not have."""

import pytest

from airflow_coordination.submission.preflight import check_java
from airflow_coordination.values.errors import DeploymentError

NOWHERE = {"PATH": "/nowhere", "JAVA_HOME": "", "SPARK_HOME": "", "SPARK_CONF_DIR": ""}


def test_a2_a_worker_without_java_is_refused():
    with pytest.raises(DeploymentError, match="has no Java on PATH, and JAVA_HOME is not set"):
        check_java(NOWHERE, "spark-submit")


@pytest.mark.parametrize("variable", ["SPARK_CONF_DIR", "SPARK_HOME"])
def test_a2_what_spark_env_knows_of_java_is_not_second_guessed(tmp_path, variable):
    place = tmp_path / "conf" if variable == "SPARK_HOME" else tmp_path
    place.mkdir(exist_ok=True)
    (place / "spark-env.sh").write_text("export JAVA_HOME=/opt/java")
    check_java(NOWHERE | {variable: str(tmp_path)}, "spark-submit")


def test_a2_a_wrapper_finds_java_by_itself():
    check_java(NOWHERE, "spark3-submit")
