"""What a function sees of many leases: their partitions, their files, and what it may say of one."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from airflow_coordination import Complete, GiveUp
from airflow_coordination.leases import InvalidInputError
from airflow_coordination.spark.together.leases import PartitionLeases
from airflow_coordination.systems.objects.names_file import NamesFiles


@pytest.fixture
def leases() -> PartitionLeases:
    payloads = {"a": {"path": "/in/a[1].csv"}, "b": {"base": "/in/", "names": ["b.csv", "c.csv"]}}
    held = {
        key: SimpleNamespace(partition=SimpleNamespace(key=key, payload=payload), lost=None)
        for key, payload in payloads.items()
    }
    return PartitionLeases(held)


def test_it_is_a_mapping_of_the_partitions_by_their_keys(leases) -> None:
    assert (list(leases), len(leases), leases["b"].payload["base"]) == (["a", "b"], 2, "/in/")
    with pytest.raises(KeyError):
        leases["c"]


def test_the_files_of_all_payloads_are_named_for_spark(leases) -> None:
    assert leases.paths == [r"/in/a\[1\].csv", "/in/b.csv", "/in/c.csv"]


def test_names_in_a_file_are_read_there(leases, tmp_path) -> None:
    said = NamesFiles(str(tmp_path), "store", "flights").put(["d.csv"]).document()
    leases["b"].payload = {"base": "/in/", "bytes": 1, "names_file": said}
    assert leases.paths == [r"/in/a\[1\].csv", "/in/d.csv"]


def test_a_payload_without_files_is_refused_with_a_remedy(leases) -> None:
    leases["b"].payload = {"day": "2013-01-01"}
    with pytest.raises(InvalidInputError, match=r"payload=.*of partition 'b' names no files.*say by="):
        _ = leases.paths


def test_what_was_said_of_one_wins_over_what_is_returned(leases) -> None:
    leases.end("a", GiveUp("later"))
    assert leases.outcomes(Complete()) == {"a": GiveUp("later"), "b": Complete()}
    leases.fail("b", "no header")
    assert str(leases.outcomes({"a": Complete()})["b"]) == "no header"


@pytest.mark.parametrize("said", [lambda leases: leases.fail("x", "why"), lambda leases: leases.end("x", Complete()),
                                  lambda leases: leases.outcomes({"x": Complete()})])  # fmt: skip
def test_another_key_is_refused_by_name(leases, said) -> None:
    with pytest.raises(InvalidInputError, match=r"key='x': is none of these partitions\. Give one of 2, as 'a', 'b'"):
        said(leases)


@pytest.mark.parametrize("error", ["", None, 7])
def test_a_failure_needs_a_reason(leases, error) -> None:
    with pytest.raises(InvalidInputError, match=r"error=.*is no reason"):
        leases.fail("a", error)


def test_nothing_is_written_where_nobody_can_publish(leases) -> None:
    for key in list(leases):
        leases.fail(key, "no header")
    assert leases.publish("days", None, "key") == {}
