"""What becomes of what a partition function does: returns, raises, exits, loses its lease."""

from __future__ import annotations

import signal
import sys
import threading
import time
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest

from airflow_coordination.leases import (
    DeploymentError,
    InvalidInputError,
    OutcomeUnknownError,
    PartitionNotOwnedError,
    PartitionStatus,
    ProgressStateError,
    Settings,
    SettingsError,
    SourceCoordinator,
    StoreUnavailableError,
)
from airflow_coordination.outputs import OutputError
from airflow_coordination.spark import Close, Complete, GiveUp, drain, draining, partition_application, read_completed
from tests.integration.spark.one_partition import FAST, coordinator, run, store

__all__ = ["coordinator", "run", "store"]

AT_ONCE = 30.0
"""Seconds, on a machine that is busy with something else, too; what is not interrupted goes on for ten minutes."""


@pytest.mark.parametrize(
    ("result", "error"),
    [
        (None, "RuntimeError: the partition function returned nothing; return Complete(), Close(…) or GiveUp(…)"),
        (7, "RuntimeError: the partition function returned 7; return Complete(), Close(…) or GiveUp(…)"),
        (ValueError("bad row"), "ValueError: bad row"),
        (
            RuntimeError("jdbc:x://me:hunter2@host/db password=hunter2"),
            "RuntimeError: jdbc:x://me:***@host/db password=***",
        ),
        (
            SystemExit(0),
            "RuntimeError: the partition function called sys.exit(0) without an outcome; "
            "return Complete() when the work is done",
        ),
    ],
)
def test_everything_but_an_outcome_is_a_failure(run, coordinator, result: object, error: str) -> None:
    def main(spark, lease):
        if isinstance(result, SystemExit):
            sys.exit(result.code)
        if isinstance(result, Exception):
            raise result
        return result

    drained = run(main)
    assert (drained.failed, drained.errors) == (1, (("p", error),))
    assert (coordinator.partition("p").failures, coordinator.partition("p").last_error) == (1, error)


def test_a_failure_does_not_stop_the_others(run, coordinator) -> None:
    coordinator.create_partitions(["q", "r"])

    @partition_application
    def main(spark, lease):
        if lease.partition.key == "p":
            raise ValueError("poison")
        return Complete()

    drained = run(main, max_leases=None)
    assert (drained.completed, drained.failed, drained.keys) == (2, 1, ("p", "q", "r"))


def test_outcomes(run, coordinator) -> None:
    outcomes = iter(
        [GiveUp("later", retry_after=timedelta(0)), Close(timedelta(0), state={"n": 1}), Close(timedelta(hours=1))]
    )
    found = []

    def main(spark, lease):
        found.append(lease.progress_state)
        return next(outcomes)

    assert run(main).given_up == 1
    assert run(main).closed == 1
    assert run(main).closed == 1
    assert found == [None, None, {"n": 1}]
    assert coordinator.partition("p").closed_count == 2


def test_max_leases_is_kept_and_a_given_up_partition_does_not_come_back_for_ever(run, coordinator) -> None:
    coordinator.create_partitions(["q"])
    assert run(lambda spark, lease: Complete()).keys == ("p",)
    coordinator.create_partitions(["r"])
    assert run(lambda spark, lease: GiveUp("not now"), max_leases=None).keys == ("q", "r")
    assert coordinator.counts()[PartitionStatus.UNASSIGNED] == 2


@pytest.mark.parametrize("limit", [0, -1, True, 1.5])
def test_a_limit_that_makes_no_sense_is_refused(run, limit: object) -> None:
    with pytest.raises(InvalidInputError, match="max_leases="):
        run(lambda spark, lease: Complete(), max_leases=limit)


def test_a_supplier_runs_when_nothing_is_left(run, coordinator) -> None:
    assert run(lambda spark, lease: Complete(), max_leases=None, supplier=lambda state: ["q"]).keys == ("p", "q")


def test_a_supplier_never_goes_back_beyond_its_rules(run) -> None:
    """Without Airflow as in it; the fixture's own partition was there before."""
    days = ["2013-01-01", "2913-01-01"]
    rules = [{"type": "dropBeforeByPeriod", "period": "P30D"}]
    given = {"supplier": lambda state: days, "rules": rules, "interval_from_key": "%Y-%m-%d"}
    assert run(lambda spark, lease: Complete(), max_leases=None, **given).keys == ("p", "2913-01-01")


def test_l4_a_dead_rivals_supplier_is_waited_for_and_replaced(run, coordinator, store, monkeypatch) -> None:
    """L4: the drain ended after "p", as if that were all."""
    rival = SourceCoordinator(store, source="s", owner="rival", ownership_timeout=timedelta(seconds=3))
    with monkeypatch.context() as patch:
        patch.setattr("airflow_coordination.leases.tenures.Tenures.end", lambda *_: None)  # nobody gives it back
        rival.run_supplier(lambda state: [])
    assert coordinator.supplying.supplier_rival().owner == "rival"
    assert run(lambda spark, lease: Complete(), max_leases=None, supplier=lambda state: ["q"]).keys == ("p", "q")


def test_s12_progress_and_blocks_go_together(run, coordinator, spark, store) -> None:
    def main(spark, lease):
        if lease.progress_state is None:
            with lease.publish("d") as block:
                spark.range(2).write.parquet(block.path)
            lease.save({"done": 1})
            with lease.publish("d") as block:
                spark.range(100).write.parquet(block.path)
            return GiveUp("the second block was not saved", retry_after=timedelta(0))
        with lease.publish("d") as block:
            spark.range(2, 5).write.parquet(block.path)
        return Complete()

    run(main)
    run(main)
    frame = read_completed(spark, store=store, source="s", dataset="d")
    assert sorted(row.id for row in frame.collect()) == [0, 1, 2, 3, 4]


def test_an_exception_inside_the_with_block_discards_it(run, coordinator, spark, store) -> None:
    def main(spark, lease):
        try:
            with lease.publish("d") as block:
                spark.range(7).write.parquet(block.path)
                raise ZeroDivisionError
        except ZeroDivisionError:
            pass
        with lease.publish("d") as block:
            spark.range(1).write.parquet(block.path)
        return Complete()

    assert run(main).completed == 1
    assert read_completed(spark, store=store, source="s", dataset="d").count() == 1


def test_s14_saving_or_ending_with_an_open_block_is_an_error(run, coordinator, output_root: str) -> None:
    caught = []

    def main(spark, lease):
        block = lease.publish("d")
        block.__enter__()
        with pytest.raises(OutputError) as info:
            lease.save({"n": 1})
        caught.append((str(info.value), block))
        return Complete()

    drained = run(main)
    message, _ = caught[0]
    assert message.startswith(f"Cannot save progress of partition 'p' of source 's': {output_root}/_attempts/")
    assert message.endswith("is a block of 'd' that is still open. Leave its with-block first")
    assert drained.failed == 1
    assert "is still open" in coordinator.partition("p").last_error


@pytest.mark.parametrize("state", [{"n": float("nan")}, {1: 2}, object(), "x" * 300_000, None])
def test_s14_bad_progress_is_refused_and_the_last_good_one_stays(run, coordinator, state: object) -> None:
    def main(spark, lease):
        lease.save({"good": True})
        with pytest.raises(ProgressStateError):
            lease.save(state)
        assert lease.progress_state == {"good": True}
        return GiveUp("enough", retry_after=timedelta(hours=1))

    assert run(main).given_up == 1
    assert coordinator.partition("p").progress_state == {"good": True}


def test_bad_outcomes_name_field_and_remedy() -> None:
    with pytest.raises(InvalidInputError, match=r"reopen_after=.*is negative"):
        Close(timedelta(seconds=-1))
    with pytest.raises(InvalidInputError, match=r"reopen_after=.*has no time zone"):
        Close(datetime(2026, 1, 1))  # noqa: DTZ001
    with pytest.raises(ProgressStateError):
        Close(timedelta(0), state=object())
    assert Close(datetime(2026, 1, 1, tzinfo=UTC)).state is None


def test_e13_output_that_was_meddled_with_is_not_published(run, coordinator) -> None:
    """E13: written beside the block, or overwritten after it was left: the partition fails, and says what to mend."""

    def beside(spark, lease):
        with lease.publish("d") as block:
            spark.range(1).write.parquet(f"{block.path}x")
        return Complete()

    def overwritten(spark, lease):
        with lease.publish("d") as block:
            spark.range(1).write.parquet(block.path)
        spark.range(2).write.mode("overwrite").parquet(block.path)
        return Complete()

    def nothing(spark, lease):
        with lease.publish("d", allow_empty=True):
            pass
        return Complete()

    coordinator.create_partitions(["first", "second", "third"])
    [(_, message)] = run(beside, max_leases=1).errors
    assert "has no file, although Spark writes one of parquet even for no rows" in message
    [(_, message)] = run(overwritten, max_leases=1).errors
    assert "since its with-block was left" in message
    assert run(nothing, max_leases=1).errors == ()


def test_a2_publishing_without_a_root_is_no_failure_of_the_partition(spark, store, coordinator) -> None:
    """A2: `output_root` unset parked the whole source."""

    def main(spark, lease):
        with lease.publish("d"):
            return Complete()

    with pytest.raises(SettingsError, match=r"output_root=None: is not set.* Set output_root"):
        drain(main, store=store, source="s", spark=spark, settings=FAST, max_leases=None)
    partition = coordinator.partition("p")
    assert (partition.status, partition.failures) == (PartitionStatus.UNASSIGNED, 0)


def test_e10_a_tenure_whose_session_is_gone_is_given_back(spark, store, coordinator) -> None:
    """E10, A2: the marks of Spark's jobs come before the function, and nothing of the function has failed."""
    stopped = spark.newSession()
    stopped._sc = SimpleNamespace(setJobGroup=None)
    with pytest.raises(DeploymentError, match=r"The Spark session does not work .*No partition is charged with this"):
        drain(lambda spark, lease: Complete(), store=store, source="s", spark=stopped, settings=FAST)
    partition = coordinator.partition("p")
    assert (partition.status, partition.failures, partition.lost_leases) == (PartitionStatus.UNASSIGNED, 0, 0)


def test_unknown_modes_and_formats_are_refused(run, coordinator) -> None:
    def main(spark, lease):
        with pytest.raises(InvalidInputError, match="mode='merge'"), lease.publish("d", mode="merge"):
            pass
        with pytest.raises(InvalidInputError, match="format='xlsx'"), lease.publish("d", format="xlsx"):
            pass
        with lease.publish("d") as block:
            spark.range(1).write.parquet(block.path)
        with pytest.raises(InvalidInputError, match="differs from 'replace'"), lease.publish("d", mode="append"):
            pass
        return Complete()

    assert run(main).errors == ()


def test_l7_a_lost_lease_cancels_the_job_and_publishes_nothing(run, coordinator) -> None:
    """A person takes the lease away while a Spark job runs that would take ten minutes."""
    running = threading.Event()
    times = {}

    def take_away() -> None:
        running.wait(60)
        time.sleep(0.5)  # inside the job
        coordinator.people.park("p", by="ana", why="a test")
        times["taken"] = time.monotonic()

    def main(spark, lease):
        with lease.publish("d") as block:
            running.set()
            slow = spark.range(1).selectExpr("java_method('java.lang.Thread', 'sleep', id + 600000L) as x")
            try:
                slow.write.parquet(block.path)
            finally:
                times["cancelled"] = time.monotonic()
        return Complete()

    person = threading.Thread(target=take_away)
    person.start()
    drained = run(main)
    person.join()
    assert drained.lost == 1
    assert "this tenure ended: released" in drained.errors[0][1]
    assert times["cancelled"] - times["taken"] < AT_ONCE
    assert coordinator.store.heads("s|PARTITION") == []


def test_l7_a_lost_lease_interrupts_python_code_too(run, coordinator) -> None:
    def main(spark, lease):
        coordinator.people.park("p", by="ana", why="a test")
        time.sleep(600)

    started = time.monotonic()
    assert run(main).lost == 1
    assert time.monotonic() - started < AT_ONCE


def test_spark_works_on_after_an_interrupt_cut_a_call_to_it(run, coordinator, spark) -> None:
    """The wait happens inside the JVM, outside any job, so that cancelling does not end it."""

    def main(spark, lease):
        coordinator.people.park("p", by="ana", why="a test")
        spark._jvm.java.lang.Thread.sleep(8_000)

    assert run(main).lost == 1
    assert spark.range(5).count() == 5
    assert spark.sparkContext.getLocalProperty("spark.jobGroup.id") is None


def test_a_function_in_another_thread_is_interrupted_too(run, coordinator) -> None:
    result = []

    def main(spark, lease):
        coordinator.people.park("p", by="ana", why="a test")
        while True:
            time.sleep(0.05)

    thread = threading.Thread(target=lambda: result.append(run(main)))
    thread.start()
    thread.join(30)
    assert result[0].lost == 1


def test_a_refused_save_is_counted_once_and_nothing_more_is_tried(run, coordinator) -> None:
    def main(spark, lease):
        coordinator.people.park("p", by="ana", why="a test")
        with pytest.raises(PartitionNotOwnedError):
            lease.save({"n": 1})
        return Complete()

    drained = run(main)
    assert drained.lost == 1
    assert coordinator.partition("p").parked


def test_l8_no_progress_is_a_failure_unless_the_function_says_that_it_lives(spark, store, coordinator) -> None:
    settings = Settings(ownership_timeout=timedelta(seconds=10), no_progress_timeout=timedelta(seconds=4))

    def hung(spark, lease):
        time.sleep(600)

    drained = drain(hung, store=store, source="s", spark=spark, settings=settings)
    assert drained.failed == 1
    assert "showed no progress for" in drained.errors[0][1]
    coordinator.people.reopen("p", by="ana", why="a test")

    def alive(spark, lease):
        for _ in range(60):
            time.sleep(0.1)
            lease.alive()
        return Complete()

    assert drain(alive, store=store, source="s", spark=spark, settings=settings).completed == 1


def test_l2_sigterm_gives_the_lease_back_and_ends_the_process(run, coordinator, monkeypatch) -> None:
    """E5: it returned as if all were done, and a second drain began."""
    monkeypatch.setattr(draining, "_stopped", threading.Event())
    coordinator.create_partitions(["q"])

    def main(spark, lease):
        signal.raise_signal(signal.SIGTERM)
        time.sleep(600)

    before = signal.getsignal(signal.SIGTERM)
    stopped = run(main, max_leases=None, on_stop="return")
    assert (stopped.given_up, stopped.stopped, stopped.keys) == (1, True, ("p",))
    with pytest.raises(SystemExit) as ended:
        run(main)
    assert ended.value.code == 143
    assert (coordinator.partition("p").failures, coordinator.partition("q").token) == (0, 0)
    assert signal.getsignal(signal.SIGTERM) is before


def test_an_interrupt_gives_the_lease_back_and_goes_on(run, coordinator) -> None:
    def main(spark, lease):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(main)
    assert coordinator.partition("p").status is PartitionStatus.UNASSIGNED


def test_a_completion_stays_one_when_the_next_acquisition_cannot_be_learnt(spark, coordinator, store) -> None:
    """The fused step was applied, its answer was lost, and then the store cannot be asked what was acquired."""
    coordinator.create_partitions(["q"])
    fused = store.complete_and_acquire
    lost = []

    def answer_lost(end, following):
        answer = fused(end, following)
        if not lost:
            lost.append(answer)
            raise OutcomeUnknownError("complete", "the connection was cut")
        return answer

    def unreachable(source, nonce):
        raise StoreUnavailableError("look for an acquisition", "the connection is gone")

    store.complete_and_acquire, store.find_nonce = answer_lost, unreachable
    settings = Settings(request_deadline=timedelta(seconds=1))
    drained = drain(
        lambda spark, lease: Complete(), store=store, source="s", spark=spark, max_leases=2, settings=settings
    )
    assert lost
    assert (drained.completed, drained.lost) == (1, 0)
    assert coordinator.partition("p").status is PartitionStatus.COMPLETED


def test_the_session_is_left_without_marks(run, coordinator, spark) -> None:
    seen = []

    def main(spark, lease):
        seen.append(len(spark.sparkContext.getJobTags()))
        return Complete()

    run(main)
    assert seen == [1]
    assert len(spark.sparkContext.getJobTags()) == 0
    assert spark.sparkContext.getLocalProperty("spark.jobGroup.id") is None


def test_small_x1_workers_run_the_python_of_the_drain(run, coordinator, spark, monkeypatch) -> None:
    """The row after Z: from an environment that is not activated they ran another ``python3``, without our code."""
    monkeypatch.setattr(spark.sparkContext, "pythonExec", "python3")  # where PYSPARK_PYTHON is not set
    seen = []

    def main(spark, lease):
        seen.extend(spark.sparkContext.parallelize([0], 1).map(lambda _: sys.executable).collect())
        return Complete()

    run(main)
    assert seen == [sys.executable]
    assert coordinator.partition("p").status is PartitionStatus.COMPLETED
