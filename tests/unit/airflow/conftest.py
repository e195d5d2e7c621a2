"""Airflow's home is set before Airflow is imported for the first time."""

from __future__ import annotations

import os
import tempfile

import pytest

os.environ.setdefault("AIRFLOW_HOME", tempfile.mkdtemp(prefix="airflow-home-"))


@pytest.fixture
def store():
    """An in-memory store of this test's own."""
    from airflow_coordination.stores import open_store

    return open_store("memory://")
