"""Run dates in the arguments of leased work."""

import warnings

import pytest

from airflow_coordination.operators import LeasedSparkSubmitOperator
from airflow_coordination.submission.arguments import RunDateWarning


def leased(**arguments):
    return LeasedSparkSubmitOperator(task_id="process", application="job.py", **({"source": "flights"} | arguments))


@pytest.mark.parametrize(
    "arguments",
    [
        {"application_args": ["--day", "{{ ds }}"]},
        {"env_vars": {"FROM": "{{ data_interval_start | ts }}"}},
        {"conf": {"spark.app.run": "{{ run_id }}"}},
        {"name": "{% if logical_date %}x{% endif %}"},
    ],
)
def test_run_dates_on_a_standing_source_are_warned_of(arguments):
    [name] = arguments
    with pytest.warns(RunDateWarning, match=f"{name} follow this run's date, but source 'flights' is standing"):
        leased(**arguments)


@pytest.mark.parametrize(
    "arguments",
    [
        {"source": "flights-{{ ds }}", "application_args": ["{{ ds }}"]},
        {"application_args": ["{{ var.value.bucket }}", "ds"]},
        {},
    ],
)
def test_others_are_not(arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("error", RunDateWarning)
        leased(**arguments)
