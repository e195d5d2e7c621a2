"""The example job as its file has it, a small month of real flights, and a Spark session."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from tests.integration.spark.drivers import SMALL, connector

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="session", autouse=True)
def demo_on_path():
    """Let tests use the demo's own sums: the package ``demo`` lives in scripts/."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "scripts"))
        yield


@pytest.fixture
def job():
    """Return the job's function."""
    return runpy.run_path(str(ROOT / "dags" / "flights_job.py"))["main"]


@pytest.fixture(scope="session")
def small_month():
    """Return header and every fiftieth flight of February."""
    from demo.data import month_of, source_lines

    lines = source_lines()
    header = next(lines)
    return [header, *[line for line in lines if month_of(line) == "2013-02"][::50]]


@pytest.fixture(scope="session")
def spark():
    """Return a session for all these tests."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[1]").config(map=SMALL)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in connector().items():
            patch.setenv(name, value)
        session = builder.getOrCreate()
    yield session
    session.stop()
