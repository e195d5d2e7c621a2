"""What a failing source says."""

from __future__ import annotations

import pickle

import pytest

from airflow_coordination.leases import CoordinationError, SettingsError
from airflow_coordination.sources import SourceError
from airflow_coordination.systems.suppliers import wrapped


def test_a_library_s_exception_is_told_and_chained() -> None:
    with pytest.raises(SourceError) as failed, wrapped("list a bucket", "s3://b"):
        raise ConnectionError("refused")
    assert str(failed.value) == (
        "Cannot list a bucket: s3://b answers ConnectionError: refused. "
        "Check its name, and that this process may read there"
    )
    assert isinstance(failed.value.__cause__, ConnectionError)
    assert isinstance(failed.value, CoordinationError)


def test_our_own_errors_pass() -> None:
    with pytest.raises(SettingsError), wrapped("list a bucket", "s3://b"):
        raise SettingsError("a", 1, "is wrong", "Change it")


def test_it_survives_the_way_between_processes() -> None:
    error = SourceError("list", "s3://b", "is closed", "Open it")
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.place, copy.remedy) == (str(error), "s3://b", "Open it")
