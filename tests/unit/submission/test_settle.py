"""The tenures that a driver leaves open are ended, and no others."""

from airflow_coordination.leases import (
    Outcome,
)
from airflow_coordination.submission.settle import SubmissionEnd, settle
from airflow_coordination.submission.tenure_book import TenureBook


def test_b3_only_this_tasks_own_tenures_are_ended(case):
    """B3: whatever its book says; another owner's tenure was ended as failed."""
    tenures = TenureBook("mine", case.lease.fence)
    tenures.began("held", case.held.fence)
    settle(case.coordinator, case.lease, tenures, SubmissionEnd(True, False, ValueError("x")))
    mine, held = case.rows()[:2]
    assert mine.ending_of(case.lease.fence).outcome is Outcome.FAILED
    assert held.held_under(case.held.fence)


def test_b3_an_end_that_the_store_does_not_know_is_made(case):
    """B3: a line may say that a tenure has ended; the newest is looked up in any case."""
    case.tell("ended", key="mine", fence=str(case.lease.fence), outcome="completed")
    settle(case.coordinator, case.lease, case.watch.tenures, SubmissionEnd(True, False, ValueError("x")))
    assert case.rows()[0].ending_of(case.lease.fence).outcome is Outcome.FAILED


def test_b3_an_error_that_is_kept_steers_no_terminal():
    """B3: it is printed by the task, by the next one, and by the command line."""
    from airflow_coordination.spark.error_text import error_text

    error = ValueError("row 7\nis \x1b[2J\u202e odd")
    assert error_text(error) == "ValueError: row 7\nis \\x1b[2J\\u202e odd"
    assert SubmissionEnd(True, False, error).reason.endswith("row 7\nis \\x1b[2J\\u202e odd")
