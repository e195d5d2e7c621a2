"""The tenures that a driver leaves open are ended, and no others."""

from airflow_coordination.duties.branches.beginning import begin
from airflow_coordination.duties.branches.selection import Selection
from airflow_coordination.duties.branches.showing import roll_back
from airflow_coordination.leases import Outcome
from airflow_coordination.outputs.enabling import enabling_of
from airflow_coordination.submission.finish import SubmissionEnd, finish
from airflow_coordination.submission.tenure_book import TenureBook


def test_b3_only_this_tasks_own_tenures_are_ended(case):
    """B3: whatever its book says; another owner's tenure was ended as failed."""
    tenures = TenureBook("mine", case.lease.fence)
    tenures.began("held", case.held.fence)
    finish(case.coordinator, case.lease, tenures, SubmissionEnd(True, False, ValueError("x")))
    mine, held = case.rows()[:2]
    assert mine.ending_of(case.lease.fence).outcome is Outcome.FAILED
    assert held.held_under(case.held.fence)


def test_b3_an_end_that_the_store_does_not_know_is_made(case):
    """B3: a line may say that a tenure has ended; the newest is looked up in any case."""
    case.tell("ended", key="mine", fence=str(case.lease.fence), outcome="completed")
    finish(case.coordinator, case.lease, case.watch.tenures, SubmissionEnd(True, False, ValueError("x")))
    assert case.rows()[0].ending_of(case.lease.fence).outcome is Outcome.FAILED


def test_b3_an_error_that_is_kept_steers_no_terminal():
    """B3: it is printed by the task, by the next one, and by the command line."""
    from airflow_coordination.systems.spark.error_text import error_text

    error = ValueError("row 7\nis \x1b[2J\u202e odd")
    assert error_text(error) == "ValueError: row 7\nis \\x1b[2J\\u202e odd"
    assert SubmissionEnd(True, False, error).reason.endswith("row 7\nis \\x1b[2J\\u202e odd")


def test_what_was_handed_over_beside_the_first_and_never_begun_is_not_charged(case):
    """A driver that died between the beginnings has done no work on the second."""
    second = case.coordinator.acquire_partition("next")
    tenures = TenureBook("mine", case.lease.fence, [("next", second.fence)])
    end = SubmissionEnd(True, False, ValueError("x"), ours=True)
    assert not finish(case.coordinator, case.lease, tenures, end)
    mine, _, _, following = case.rows()
    assert mine.ending_of(case.lease.fence).outcome is Outcome.FAILED
    assert following.ending_of(second.fence).outcome is Outcome.GIVEN_UP
    assert following.failures == 0
    assert tenures.summary() == {"failed": 1, "given_up": 1, "partitions": [], "more": 0}


def test_what_the_driver_acquired_itself_is_charged(case):
    second = case.coordinator.acquire_partition("next")
    tenures = TenureBook("mine", case.lease.fence)
    tenures.began("next", second.fence)
    finish(case.coordinator, case.lease, tenures, SubmissionEnd(True, False, ValueError("x"), ours=True))
    assert case.rows()[3].ending_of(second.fence).outcome is Outcome.FAILED


def test_a_job_in_a_branch_that_was_rolled_back_is_parked_at_once(case):
    """What it did is done, and no try of it would count."""
    enabling_of(case.coordinator.store).enable_branches()
    begin(case.coordinator, Selection(keys=("next",)), "ana", "late data", even_if_it_never_ran=True)
    lease = case.coordinator.acquire_partition("next")
    roll_back(case.coordinator, 1, "ana", "never mind")
    end = SubmissionEnd(began=False, stopped=False, error=None, may_complete=True)
    finish(case.coordinator, lease, TenureBook("next", lease.fence), end)
    now = case.coordinator.partition("next")
    assert (now.parked, now.ending_of(lease.fence).outcome) == (True, Outcome.FAILED)
