"""Z11: what a function says is to follow when its partition is parked, without Spark."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from airflow_coordination.follow_ups import FollowUpRights, follow_up_all
from airflow_coordination.leases import PartitionStatus, Settings, SourceCoordinator
from airflow_coordination.spark import CallUrl, Close, Complete, DeleteObjects
from airflow_coordination.spark.draining import drain
from airflow_coordination.stores import open_store
from airflow_coordination.systems.http import call as url
from airflow_coordination.testing.forwarding import ForwardingStore


@pytest.fixture
def one():
    coordinator = SourceCoordinator(open_store("memory://"), "s", "a person")
    coordinator.create_partitions(["k"])
    return coordinator


@pytest.fixture
def run(one):
    def run(main, most=1, store=None):
        settings = Settings(max_failures=most)
        return drain(main, store=store or one.store, source="s", spark=None, settings=settings)

    return run


@pytest.fixture
def file(tmp_path):
    made = tmp_path / "in"
    made.write_text("x")
    return made


def fails_after(then):
    def main(spark, lease):
        lease.on_parked(then)
        raise ValueError("boom")

    return main


def test_z11_the_driver_whose_failure_parks_it_does_what_follows(one, run, file) -> None:
    run(fails_after([DeleteObjects(str(file)), None]))
    assert one.partition("k").parked
    assert (file.exists(), list(one.follow_ups.follow_ups())) == (False, [])


def test_z11_a_failure_that_is_not_the_last_does_nothing(one, run, file) -> None:
    run(fails_after(DeleteObjects(str(file))), most=2)
    assert one.partition("k").status is PartitionStatus.UNASSIGNED
    assert one.partition("k").on_parked is not None
    assert (file.exists(), list(one.follow_ups.follow_ups())) == (True, [])


def test_z11_what_the_driver_cannot_do_is_left_to_those_who_may(one, run, caplog, monkeypatch) -> None:
    monkeypatch.setattr(url, "_RETRY_FOR", timedelta(0))
    run(fails_after(CallUrl("http://127.0.0.1:9/x")))
    [note] = one.follow_ups.follow_ups()
    assert (
        "Partition 'k' is parked, and what follows is left for later: FollowUpError: Cannot call http://127.0.0.1:9/x"
        in caplog.text
    )
    assert [each for each, _ in follow_up_all(one).waiting] == [note]
    allowed = FollowUpRights(urls="http://127.0.0.1:9/")
    assert [each for each, _ in follow_up_all(one, rights=allowed).failed] == [note]
    assert list(one.follow_ups.follow_ups()) == [note]


def test_z11_the_driver_does_what_its_function_has_said_and_nothing_that_it_finds(one, run, file, tmp_path) -> None:
    """Decision 78: somebody who may write into the store has put another order in its place."""
    other = tmp_path / "other"
    other.write_text("y")

    def main(spark, lease):
        lease.on_parked(DeleteObjects(str(file)))
        held = one.partition("k")
        forged = held.on_parked.replace(str(file), str(other))
        one.store._source(held.source).partitions["k"] = _with(held, f"{held.generation} {forged}")
        raise ValueError("boom")

    run(main)
    assert (file.exists(), other.exists()) == (True, True)
    assert [each.key for each, _ in follow_up_all(one).waiting] == ["k"]


def _with(partition, text):
    from dataclasses import replace

    return replace(partition, on_parked_text=text)


@pytest.mark.parametrize("ending", [Complete(), Close(timedelta(0), {"row": 1})])
def test_z11_what_ends_well_is_not_followed(one, run, file, ending) -> None:
    def main(spark, lease):
        lease.on_parked(DeleteObjects(str(file)))
        return ending

    run(main)
    assert (file.exists(), list(one.follow_ups.follow_ups())) == (True, [])


def test_z11_it_can_be_taken_back(one, run, file) -> None:
    def main(spark, lease):
        lease.on_parked(DeleteObjects(str(file)))
        lease.on_parked(None)
        raise ValueError("boom")

    run(main)
    assert (file.exists(), list(one.follow_ups.follow_ups())) == (True, [])


@pytest.mark.parametrize(
    ("then", "problem"),
    [
        ("s3://b/k", "on_parked='s3://b/k': is nothing to do at a source. Give one or several of: CallUrl, "),
        (CallUrl("http://h/", 5000 * "x"), "bytes of JSON, of which 4,096 fit"),
    ],
)
def test_z11_what_is_no_action_or_too_long_fails_the_partition_by_its_field(one, run, then, problem) -> None:
    run(fails_after(then))
    assert problem in one.partition("k").last_error
    assert "on_parked" in one.partition("k").last_error
    assert list(one.follow_ups.follow_ups()) == []


def test_z11_who_has_lost_the_lease_says_nothing_and_hears_of_it(one, run, file) -> None:
    heard = []

    def main(spark, lease):
        one.people.release("k", "ana", "stop")
        try:
            lease.on_parked(DeleteObjects(str(file)))
        except Exception as error:
            heard.append(type(error).__name__)
            raise

    run(main)
    assert heard == ["PartitionNotOwnedError"]
    assert one.partition("k").on_parked is None


def test_z11_a_store_from_elsewhere_refuses_what_it_would_lose(one, run) -> None:
    class Elsewhere(ForwardingStore):
        def parts(self):
            return replace(super().parts(), follow_ups=None)

    run(fails_after(CallUrl("http://h/")), store=Elsewhere(one.store))
    assert "comes from elsewhere and keeps no note of what follows a parking" in one.partition("k").last_error


def test_z11_a_driver_that_has_said_nothing_asks_for_nothing(one, run) -> None:
    asked = []

    class Counting(ForwardingStore):
        def forward(self, name, call):
            asked.append(name)
            return call()

    def main(spark, lease):
        raise ValueError("boom")

    run(main, store=Counting(one.store))
    assert one.partition("k").parked
    assert "follow_ups" not in asked


def test_z11_a_saved_state_goes_on_beside_it(one, run, file) -> None:
    def main(spark, lease):
        lease.save({"row": 1})
        lease.on_parked(DeleteObjects(str(file)))
        lease.save({"row": 2})
        raise ValueError("boom")

    run(main)
    assert one.partition("k").progress_state == {"row": 2}
    assert not Path(file).exists()
