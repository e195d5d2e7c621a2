"""What a driver tells of tenures that pass before anybody could look at them."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from airflow_coordination.leases import Outcome
from airflow_coordination.spark.reports import SINGLY, ShortTenures
from airflow_coordination.submission.task_instance import MOST_KEYS


class Told:
    """Keeps what was told, and lets a test wait for it."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, dict[str, Any]]] = []
        self.heard = threading.Condition()

    def __call__(self, event: str, **facts: Any) -> None:
        with self.heard:
            self.lines.append((event, facts))
            self.heard.notify_all()

    @property
    def events(self) -> list[str]:
        return [f"{event} {facts.get('key', '')}".strip() for event, facts in self.lines]


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def tenures(told: Told) -> ShortTenures:
    """Those of a drain that has told its first; its thread never comes to anything in a test."""
    return ShortTenures(told, singly=0, every=3_600)


def tenure(reports: ShortTenures, key: str, outcome: Outcome = Outcome.COMPLETED, **more: Any) -> None:
    begin(reports, key)
    reports("ended", key=key, fence=f"1-{key}", outcome=str(outcome), message="", **more)


def begin(reports: ShortTenures, key: str, **more: Any) -> None:
    reports("began", key=key, fence=f"1-{key}", owner="me", **more)


def test_the_first_of_a_drain_are_told_one_by_one(told: Told) -> None:
    reports = ShortTenures(told, singly=2, every=3_600)
    for key in "abcd":
        tenure(reports, key)
    assert told.events == ["began a", "ended a", "began b", "ended b"]
    reports.close()
    assert told.lines[4:] == [("passed", {"key": "d", "fence": "1-d", "tenures": 2, "rows": 0})]


def test_as_many_are_told_as_an_asset_event_names() -> None:
    """The keys of those that are only counted are known to nobody."""
    assert SINGLY >= MOST_KEYS


def test_rows_of_those_that_pass_are_added_up(told: Told, tenures: ShortTenures) -> None:
    tenure(tenures, "a", rows=5)
    tenure(tenures, "b")
    tenure(tenures, "c", rows=7)
    tenures.tell()
    assert told.lines == [("passed", {"key": "c", "fence": "1-c", "tenures": 3, "rows": 12})]
    tenures.tell()
    assert len(told.lines) == 1


def test_one_that_goes_on_is_told_and_ends_as_others_do(told: Told, tenures: ShortTenures) -> None:
    begin(tenures, "a")
    tenures.tell()
    tenures("ended", key="a", fence="1-a", outcome="completed", message="")
    assert told.events == ["began a", "ended a"]


def test_it_is_told_without_anybody_asking(told: Told) -> None:
    reports = ShortTenures(told, singly=0, every=0.001)
    begin(reports, "a")
    with told.heard:
        assert told.heard.wait_for(lambda: told.events, 60)
    reports.close()
    assert told.events == ["began a"]


@pytest.mark.parametrize("outcome", sorted(set(Outcome) - {Outcome.COMPLETED}))
def test_what_is_not_simply_completed_is_told_at_once_behind_all_that_passed(told, tenures, outcome: Outcome) -> None:
    begin(tenures, "a")
    tenure(tenures, "b")
    tenure(tenures, "c", outcome)
    assert told.events == ["passed b", "began c", "ended c"]


@pytest.mark.parametrize("event", ["saved", "refused"])
def test_what_is_told_of_a_tenure_comes_behind_its_beginning(told: Told, tenures: ShortTenures, event: str) -> None:
    begin(tenures, "a")
    tenures(event, key="a", fence="1-a")
    assert told.events == ["began a", f"{event} a"]


def test_one_that_has_failed_in_this_drain_is_told_when_it_is_completed(told: Told, tenures: ShortTenures) -> None:
    """The task would take it for failed."""
    tenure(tenures, "a", Outcome.FAILED)
    tenure(tenures, "a")
    assert told.events == ["began a", "ended a"] * 2


def test_one_that_runs_in_a_branch_is_told(told: Told, tenures: ShortTenures) -> None:
    """Whether readers see what it has done depends on its branch."""
    begin(tenures, "a", branch=3)
    tenures("ended", key="a", fence="1-a", outcome="completed", message="")
    assert told.events == ["began a", "ended a"]


def test_what_is_no_tenure_s_holds_nothing_up(told: Told, tenures: ShortTenures) -> None:
    tenure(tenures, "a")
    tenures("gauges", gauges={"x": 1})
    tenures("refused", message="no store")
    assert told.events == ["gauges", "refused"]


def test_what_was_counted_is_told_with_what_passed(told: Told) -> None:
    reports = ShortTenures(told, singly=1, every=3_600)
    reports("metrics", counts={"x": 1})
    tenure(reports, "a")
    tenure(reports, "b")
    reports("metrics", counts={"x": 2, "y": 1})
    tenure(reports, "c")
    reports("metrics", counts={"x": 3})
    assert told.events == ["metrics", "began a", "ended a"]
    reports.tell()
    assert told.events[3:] == ["passed c", "metrics"]
    assert told.lines[-1] == ("metrics", {"counts": {"x": 5, "y": 1}})


def test_what_was_counted_does_not_wait_for_the_next_tenure_to_end(told: Told) -> None:
    reports = ShortTenures(told, singly=0, every=0.001)
    begin(reports, "long")
    reports("metrics", counts={"x": 1})
    with told.heard:
        assert told.heard.wait_for(lambda: "metrics" in told.events, 60)
    reports.close()


@pytest.mark.parametrize("outcome", [Outcome.GIVEN_UP, Outcome.FAILED])
def test_as_many_are_named_however_many_end_in_another_way_before(told: Told, outcome: Outcome) -> None:
    reports = ShortTenures(told, singly=2, every=3_600)
    for number in range(5):
        tenure(reports, f"other{number}", outcome)
    begin(reports, "aside", branch=1)
    reports("ended", key="aside", fence="1-aside", outcome="completed", message="")
    for key in "abc":
        tenure(reports, key)
    reports.close()
    assert told.events[-5:] == ["began a", "ended a", "began b", "ended b", "passed c"]


def test_where_no_thread_can_be_started_all_is_told_at_once(told: Told, tenures: ShortTenures, monkeypatch) -> None:
    def full(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", full)
    tenure(tenures, "a")
    assert told.events == ["began a", "ended a"]
    monkeypatch.undo()
    tenure(tenures, "b")
    assert told.events == ["began a", "ended a"]


def test_a_stream_that_breaks_is_the_error_of_whoever_reports_next() -> None:
    broken, heard = threading.Event(), []

    def report(event: str, **facts: Any) -> None:
        if broken.is_set():
            raise BrokenPipeError
        heard.append(event)
        if event == "began":
            broken.set()
            raise BrokenPipeError

    reports = ShortTenures(report, singly=0, every=0.001)
    begin(reports, "a")
    assert broken.wait(60)
    with pytest.raises(BrokenPipeError):
        reports("saved", key="a", fence="1-a")


def test_what_passed_is_told_once_though_its_telling_is_interrupted(told: Told) -> None:
    class Interrupted(BaseException):
        pass

    def report(event: str, **facts: Any) -> None:
        told(event, **facts)
        if len(told.lines) == 1:
            raise Interrupted

    reports = ShortTenures(report, singly=0, every=3_600)
    tenure(reports, "a")
    with pytest.raises(Interrupted):
        reports("saved", key="b", fence="1-b")
    reports.close()
    assert told.events == ["passed a"]


def test_behind_the_end_of_a_drain_all_is_told_at_once(told: Told, tenures: ShortTenures) -> None:
    """A function that was left behind may come back."""
    tenure(tenures, "a")
    tenures.close()
    tenure(tenures, "b")
    assert told.events == ["passed a", "began b", "ended b"]
