"""The lines of a driver, as hostile input (B3)."""

import json
from types import SimpleNamespace

import pytest
import structlog
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from airflow_coordination.hooks.spark_submit import LeasedSparkSubmitHook
from airflow_coordination.leases import (
    Outcome,
    Owner,
    PartitionNotOwnedError,
    SourceCoordinator,
    StoreUnavailableError,
)
from airflow_coordination.leases.errors import printable
from airflow_coordination.leases.metrics import CountingMetrics
from airflow_coordination.operators.channel import BadReportError, read_report
from airflow_coordination.operators.conclusion import End, settle
from airflow_coordination.operators.reports import DriverReports
from airflow_coordination.operators.tenures import Tenures
from airflow_coordination.operators.watch import Watch
from airflow_coordination.stores import open_store

COUNTED = "flights_source_coordinator_partitionsCompleted"


class Case:
    """A task that holds ``mine``, on which its driver works, beside partitions of others."""

    def __init__(self, *, several):
        self.store = open_store("memory://")
        self.metrics = CountingMetrics()
        mine, other = (Owner.of_task("host", "dag", "run", task, 0, 1).text for task in ("task", "other"))
        self.coordinator = SourceCoordinator(self.store, "flights", mine, metrics=self.metrics)
        others = SourceCoordinator(self.store, "flights", other)
        self.coordinator.create_partitions(["mine", "held", "free", "next"])
        self.lease = self.coordinator.get_next_partition(hint="mine")
        self.held = others.get_next_partition(hint="held")
        self.began = self.coordinator.begin("mine", self.lease.fence)
        self.ti = SimpleNamespace(map_index=-1, pushed=[])
        self.ti.xcom_push = lambda key, value: self.ti.pushed.append(value)
        context = {"ti": self.ti, "task": SimpleNamespace(spark_ui_url="")}
        self.ended = []
        self.watch = Watch(self.coordinator, self.lease, lambda: self.ended.append(True))
        self.take = DriverReports(context, self.watch, self.coordinator, several=several)

    def rows(self):
        return [self.coordinator.partition(key) for key in ("mine", "held", "free", "next")]

    def tell(self, event, **facts):
        self.take(json.dumps({"event": event, **facts}))


@pytest.fixture
def case():
    return Case(several=True)


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
    "application": JSON,
}
EVENTS = st.sampled_from(["spark", "began", "saved", "refused", "ended", "metrics"])
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


LEGAL = st.fixed_dictionaries({"url": st.from_regex(r"https?://[a-z]{1,9}(:\d{2,4})?/", fullmatch=True)})


@given(LEGAL)
def test_b3_a_page_of_the_web_is_a_link(facts):
    """B3."""
    assert read_report(json.dumps({"event": "spark", **facts}))["url"] == facts["url"]


@pytest.mark.parametrize(
    "url",
    ["javascript:alert(1)", "ftp://h/", "//h", "http:", "https://u:p@h/", "http://[", "http://h/ x", "http://h/\n", 7],
)
def test_b3_no_other_address_is(url):
    """B3."""
    with pytest.raises(BadReportError, match="url is "):
        read_report(json.dumps({"event": "spark", "url": url}))


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


def test_b3_only_this_tasks_own_tenures_are_ended(case):
    """B3: whatever its book says; another owner's tenure was ended as failed."""
    tenures = Tenures("mine", case.lease.fence)
    tenures.began("held", case.held.fence)
    settle(case.coordinator, case.lease, tenures, End(True, False, ValueError("x")))
    mine, held = case.rows()[:2]
    assert mine.ending_of(case.lease.fence).outcome is Outcome.FAILED
    assert held.held_under(case.held.fence)


def test_b3_an_end_that_the_store_does_not_know_is_made(case):
    """B3: a line may say that a tenure has ended; the newest is looked up in any case."""
    case.tell("ended", key="mine", fence=str(case.lease.fence), outcome="completed")
    settle(case.coordinator, case.lease, case.watch.tenures, End(True, False, ValueError("x")))
    assert case.rows()[0].ending_of(case.lease.fence).outcome is Outcome.FAILED


def test_b3_an_error_that_is_kept_steers_no_terminal():
    """B3: it is printed by the task, by the next one, and by the command line."""
    from airflow_coordination.spark.messages import error_text

    error = ValueError("row 7\nis \x1b[2J\u202e odd")
    assert error_text(error) == "ValueError: row 7\nis \\x1b[2J\\u202e odd"
    assert End(True, False, error).reason.endswith("row 7\nis \\x1b[2J\\u202e odd")


def test_b3_only_lines_with_this_submissions_word_are_reports(monkeypatch):
    """B3: what was the whole marker before is output like any other."""
    from airflow_coordination.hooks.credentials import Driver
    from airflow_coordination.hooks.delivery import Delivery
    from airflow_coordination.leases.envelope import Envelope

    monkeypatch.setenv("AIRFLOW_CONN_LOCAL", '{"conn_type": "spark", "host": "local[1]"}')
    hook, told = LeasedSparkSubmitHook(conn_id="local"), []
    hook.hand_over(Delivery(Driver.HERE, envelope=Envelope("store", "w0rd")), told.append)
    lines = ["[coordination] {}", "[coordination other] {}", "[coordination w0rd] {1}", "half [coordination w0rd] {2}"]
    assert list(hook._without_reports(iter(lines))) == ["[coordination] {}", "[coordination other] {}", "half "]
    assert told == ["{1}", "{2}"]
    hook.hand_over(Delivery(Driver.HERE), told.append)
    assert list(hook._without_reports(iter(lines))) == lines


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


def test_b3_a_renewal_after_the_drivers_own_ending_does_not_end_the_driver(case):
    """B3: the task may not have heard that the driver began, and renews beside it."""
    case.coordinator.complete(case.began)
    with pytest.raises(PartitionNotOwnedError) as refused:
        case.coordinator.renew(case.lease)
    case.watch._lost_by_renewal(refused.value)
    assert (case.ended, case.watch.lost) == ([], None)
