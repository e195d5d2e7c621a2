"""The lines of a driver, as hostile input (B3)."""

import json

import pytest
import structlog
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from airflow_coordination.leases import Outcome, SourceCoordinator, StoreUnavailableError
from airflow_coordination.submission.driver_reports import DriverReports
from airflow_coordination.submission.watch import Watch
from airflow_coordination.values.input_errors import printable
from tests.unit.submission.setup import COUNTED, Case

CASES = {several: Case(several=several) for several in (False, True)}
FENCES = [str(CASES[True].lease.fence), str(CASES[True].held.fence), "1-", "9" * 5000 + "-x", "0-0", ""]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
FACTS = {
    "key": st.sampled_from(["mine", "held", "free", "next", "unknown", "", "a\x00b"]) | JSON,
    "fence": st.sampled_from(FENCES) | JSON,
    "outcome": st.sampled_from([str(outcome) for outcome in Outcome]) | JSON,
    "counts": st.dictionaries(st.sampled_from([COUNTED, "x"]), st.integers() | JSON, max_size=3) | JSON,
    "url": st.sampled_from(["javascript:alert(1)", "http://[", "https://u:p@h", "http://h\n", "data:,x"]) | JSON,
    "message": st.text() | JSON,
    "owner": st.text() | JSON,
    "blocks": st.integers() | JSON,
    "tenures": st.integers() | JSON,
    "application": JSON,
}
EVENTS = st.sampled_from(["spark", "began", "saved", "refused", "ended", "passed", "metrics"])
REPORT = st.fixed_dictionaries({"event": EVENTS | JSON}, optional=FACTS).map(json.dumps)
LINES = REPORT | JSON.map(json.dumps) | st.text() | st.integers(1, 100_000).map(lambda depth: "[" * depth)


@settings(max_examples=500, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(LINES, min_size=1, max_size=5), st.booleans())
def test_b3_no_line_raises_ends_a_tenure_or_names_what_this_task_does_not_hold(lines, several):
    """B3: even under the right word."""
    case = CASES[several]
    before = case.rows()
    with structlog.testing.capture_logs() as logged:
        for line in lines:
            case.take(line)
    assert case.rows() == before
    tenures = case.watch.tenures
    assert {*tenures.open, *tenures.unfinished, *tenures.done, tenures.current[0]} == {"mine"}
    assert set(case.metrics.counts) <= {COUNTED, "flights_source_coordinator_partitionsAcquired"} | {
        name for name in case.metrics.counts if "Created" in name
    }
    assert (case.ti.pushed, case.ended) == ([], [])
    assert all(text.isprintable() for line in logged for text in line.values() if isinstance(text, str))
    tenures.began("mine", case.lease.fence)  # a line may have told its end, which the store will be asked for


def test_b3_a_tenure_is_known_once_the_store_shows_it(case):
    """B3: the driver's own tenure, and one that it goes on with."""
    case.tell("began", key="mine", fence=str(case.lease.fence), owner="me")
    assert case.watch.began
    following = case.coordinator.get_next_partition(hint="next")
    case.tell("began", key="next", fence=str(following.fence))
    assert case.watch.tenures.current == ("next", following.fence)
    case.coordinator.complete(following)
    case.tell("ended", key="next", fence=str(following.fence), outcome="completed")
    assert case.watch.tenures.done == ("next",)


def test_b3_a_tenure_that_was_over_before_the_task_could_look_is_known_by_its_ring(case):
    """B3: a quick drain is faster than its task; the fence in the ring is proof, since nobody can guess one."""
    quick = case.coordinator.get_next_partition(hint="next")
    case.coordinator.complete(quick)
    case.tell("began", key="next", fence=str(quick.fence))
    case.tell("ended", key="next", fence=str(quick.fence), outcome="completed")
    assert case.watch.tenures.done == ("next",)


def test_what_has_passed_is_counted_and_its_last_is_looked_up(case):
    """A drain of thousands tells of each in a sum; the task's own numbers are as if each had been told."""
    last = case.coordinator.get_next_partition(hint="next")
    case.coordinator.complete(last)
    with structlog.testing.capture_logs() as logged:
        case.tell("passed", key="next", fence=str(last.fence), tenures=1_200, rows=36_000)
    assert [line["event"] for line in logged] == ["Short partitions were completed"]
    assert {"partition": "next", "tenures": 1_200, "rows": 36_000}.items() <= logged[0].items()
    tenures = case.watch.tenures
    assert (tenures.done, tenures.unnamed, tenures.current) == (("next",), 1_199, ("next", last.fence))
    assert tenures.label == "1,200 partitions: 36,000 rows"
    assert tenures.summary() == {"completed": 1_200, "rows": 36_000, "partitions": ["next"], "more": 1_199}
    assert set(tenures.open) == {"mine"}


@pytest.mark.parametrize(
    ("facts", "why"),
    [
        ({"tenures": 0}, "tenures is 0"),
        ({"tenures": -1}, "tenures is -1"),
        ({"tenures": True}, "tenures is True"),
        ({"tenures": 2, "key": "free"}, "this task does not hold partition 'free'"),
        ({}, "passed without tenures"),
    ],
)
def test_b3_what_has_passed_counts_nothing_unless_its_last_is_this_task_s(case, facts, why):
    """B3: a line of another driver, or of another store."""
    last = case.coordinator.get_next_partition(hint="next")
    case.coordinator.complete(last)
    with structlog.testing.capture_logs() as logged:
        case.tell("passed", **{"key": "next", "fence": str(last.fence), **facts})
    assert [why in line["why"] for line in logged] == [True]
    assert (case.watch.tenures.done, case.watch.tenures.unnamed) == ((), 0)


def test_b3_a_task_with_one_lease_has_no_sum_of_several():
    case = Case(several=False)
    with structlog.testing.capture_logs() as logged:
        case.tell("passed", key="mine", fence=str(case.lease.fence), tenures=2)
    assert [line["why"] for line in logged] == ["this task has one partition, not 2"]
    assert (case.watch.tenures.done, case.watch.tenures.unnamed) == ((), 0)


def test_b3_a_driver_that_has_not_begun_is_not_believed():
    """B3: the task renews until the store shows that its driver does."""
    case = Case(several=True)
    fresh = SourceCoordinator(case.store, "others", case.coordinator.owner.text)
    fresh.create_partitions(["a"])
    lease = fresh.get_next_partition()
    watch = Watch(fresh, lease, lambda: None)
    take = DriverReports({"ti": case.ti, "task": None}, watch, fresh, several=False)
    take(json.dumps({"event": "began", "key": "a", "fence": str(lease.fence)}))
    assert not watch.began
    fresh.begin("a", lease.fence)
    take(json.dumps({"event": "began", "key": "a", "fence": str(lease.fence)}))
    assert watch.began


def test_b3_what_is_printed_cannot_forge_a_line(case):
    """B3: a message may hold whatever the job's data holds."""
    hostile = "\n2026-11-22 INFO all is well\r\x1b[2J\u202e"
    with structlog.testing.capture_logs() as logged:
        case.tell("refused", key="mine", fence=str(case.lease.fence), message=hostile)
        case.tell(hostile)
    told, passed = logged
    assert told["message"] == "\\n2026-11-22 INFO all is well\\r\\x1b[2J\\u202e"
    assert passed["why"].isprintable()


def test_b3_a_store_that_does_not_answer_does_not_end_the_task(case, monkeypatch):
    """B3: the report is passed over; the end is looked up in the store."""
    monkeypatch.setattr(case.coordinator, "partition", lambda key: 1 / 0)
    with structlog.testing.capture_logs() as logged:
        case.tell("began", key="mine", fence=str(case.lease.fence))
    assert [line["event"] for line in logged] == ["A report of the driver could not be followed"]


@pytest.mark.parametrize(
    ("text", "short"), [("é → ü", "é → ü"), ("a\nb", "a\\nb"), ("\x9b", "\\x9b"), ("x" * 9, "xxxxx")]
)
def test_b3_printable_text_is_one_line(text, short):
    """B3."""
    assert printable(text, 5) == short[:5]


def test_b3_a_tenure_that_the_store_could_not_show_is_not_forgotten(case, monkeypatch):
    """B3: what the driver does while the store does not answer the task is settled and reported all the same."""
    following = case.coordinator.acquire_partition("next")
    with monkeypatch.context() as away:
        away.setattr(case.coordinator, "partition", unreachable)
        case.tell("began", key="next", fence=str(following.fence))
    case.coordinator.fail(following, "boom")
    case.tell("ended", key="next", fence=str(following.fence), outcome="failed")
    assert case.watch.tenures.unfinished["next"] == following.fence


def unreachable(key):
    raise StoreUnavailableError("read a partition", "refused")
