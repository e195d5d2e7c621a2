"""What a task knows of the tenures of its driver."""

import json

import pytest

from airflow_coordination.leases import Fence, Outcome
from airflow_coordination.submission.tenure_book import NAMED, TenureBook


def fence(token):
    return Fence(token, f"n{token}")


def test_each_tenure_of_a_drain_is_known_as_well_as_the_first():
    tenures = TenureBook("p0", fence(1))
    for number in range(100):
        tenures.began(f"p{number}", fence(1))
        assert tenures.current == (f"p{number}", fence(1))
        assert tenures.open == {f"p{number}": fence(1)}
        tenures.ended(f"p{number}", Outcome.COMPLETED)
    assert tenures.open == tenures.unfinished == {}
    assert tenures.done == tuple(f"p{number}" for number in range(100))


def test_what_failed_is_unfinished_until_it_succeeds_within_the_same_drain():
    tenures = TenureBook("a", fence(1))
    tenures.ended("a", Outcome.FAILED)
    tenures.began("b", fence(1))
    assert tenures.unfinished == {"a": fence(1), "b": fence(1)}
    assert tenures.first_unfinished == ("a", fence(1))
    tenures.ended("b", Outcome.GIVEN_UP)
    tenures.began("a", fence(2))
    tenures.ended("a", Outcome.CLOSED)
    assert tenures.unfinished == {}
    assert tenures.summary() == {"failed": 1, "given_up": 1, "closed": 1, "partitions": ["a"], "more": 0}


def test_a_summary_is_bounded_json():
    tenures = TenureBook("p0", fence(1))
    for number in range(5_000):
        tenures.began(f"p{number}", fence(1))
        tenures.ended(f"p{number}", Outcome.COMPLETED)
    assert tenures.summary()["more"] == 5_000 - NAMED
    assert len(json.dumps(tenures.summary())) < 400
    assert tenures.summary()["completed"] == 5_000
    assert tenures.label == "5,000 partitions"


def test_the_end_of_a_tenure_that_is_not_open_changes_nothing():
    tenures = TenureBook("a", fence(1))
    tenures.ended("a", Outcome.COMPLETED)
    tenures.ended("a", Outcome.LOST)
    assert tenures.summary() == {"completed": 1, "partitions": ["a"], "more": 0}


def test_a5_the_label_names_what_failed_first():
    """A5: a drain that failed showed how many were completed, and the failed one nowhere."""
    tenures = TenureBook("a", fence(1))
    tenures.ended("a", Outcome.COMPLETED)
    for key, outcome in (("b", Outcome.FAILED), ("c", Outcome.FAILED), ("d", Outcome.COMPLETED)):
        tenures.began(key, Fence(1, "n"))
        tenures.ended(key, outcome)
    assert tenures.label == "b failed"


@pytest.mark.parametrize(
    ("done", "label"),
    [
        ([("a", 0)], "a"),
        ([("a", 1204)], "a: 1,204 rows"),
        ([("a", 1000), ("b", 0), ("c", 5)], "3 partitions: 1,005 rows"),
    ],
)
def test_the_label_says_in_one_line_what_the_task_did(done, label):
    tenures = TenureBook(done[0][0], fence(1))
    for token, (key, rows) in enumerate(done, 1):
        tenures.began(key, fence(token))
        tenures.ended(key, Outcome.COMPLETED, rows=rows)
    assert tenures.label == label
    assert tenures.summary().get("rows", 0) == sum(rows for _, rows in done)


def test_rows_of_what_failed_do_not_count():
    tenures = TenureBook("a", Fence(1, "n"))
    tenures.ended("a", Outcome.FAILED, rows=7)
    assert (tenures.label, "rows" in tenures.summary()) == ("a", False)
