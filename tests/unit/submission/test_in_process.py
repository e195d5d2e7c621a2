"""What a task that works in its own process notes of its tenures."""

from types import SimpleNamespace

from airflow_coordination import Complete, SourceCoordinator
from airflow_coordination.leases import Fence, Lease, PartitionStatus
from airflow_coordination.spark.tenure import DriverContext
from airflow_coordination.submission.in_process import InProcessReports, work_in_process
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


def test_a_function_is_called_once_for_those_at_hand_and_more(store):
    days = SourceCoordinator(store, "days", "host/dag/run/task/0/1")
    days.create_partitions(list("abcde"))
    calls = []

    def function(spark, leases):
        calls.append(tuple(leases))
        return Complete()

    held = [days.get_next_partition()]
    driver = DriverContext(spark=None, coordinator=days)
    more = {"places": 1, "most": 4, "max_runtime": None, "killed": lambda: False}
    assert work_in_process(function, driver, held, together=3, **more) is None
    assert calls == [tuple("abc"), ("d",)]
    assert days.counts()[PartitionStatus.COMPLETED] == 4
