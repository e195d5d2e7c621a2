"""What a task that works in its own process notes of its tenures."""

from types import SimpleNamespace

from airflow_coordination.leases import Fence, Lease
from airflow_coordination.submission.in_process import InProcessReports
from airflow_coordination.submission.task_instance import TaskMemory


def test_the_late_end_of_a_lost_tenure_is_not_that_of_the_one_after_it(case):
    """A person releases a partition, and another thread of the same task acquires it before the first one notices."""
    lease: Lease = case.lease
    context = {"ti": case.ti, "task": SimpleNamespace(outlets=[])}
    reports = InProcessReports(context, TaskMemory({}), lease)
    after = Fence(lease.fence.token + 1, "after")
    reports("began", key="mine", fence=str(lease.fence))
    reports("began", key="mine", fence=str(after))
    reports("ended", key="mine", fence=str(lease.fence), outcome="lost", message=None)
    assert reports.tenures.open == {"mine": after}
    reports("ended", key="mine", fence=str(after), outcome="completed", message=None)
    assert reports.tenures.summary() == {"completed": 1, "partitions": ["mine"], "more": 0}
