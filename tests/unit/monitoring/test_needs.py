"""What only a person can move, in sentences; and how bad each source is."""

from datetime import UTC, datetime, timedelta

import pytest

from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.monitoring.counts import Counts, counted
from airflow_coordination.monitoring.needs import needs_of, said_of, trouble_of
from airflow_coordination.monitoring.owners import owners
from airflow_coordination.protocol.pause import NEVER_PAUSED, Pause
from airflow_coordination.testing.clock import START
from airflow_coordination.values.failing import BRAKE
from airflow_coordination.values.status import PartitionStatus

MINUTE = timedelta(minutes=1)
NOTHING = Counts(claimable=0, held=0, expired=0, delayed=0, blocked=0, parked=0, completed=0)
AT = datetime(2026, 11, 25, 1, 5, tzinfo=UTC)
PAUSE = Pause(paused=True, by="carla", why="tax rates are wrong", at=AT, op="o")
SOURCE = "flights|PARTITION"


def counts(**some):
    return Counts(**{**dict.fromkeys(NOTHING.__slots__, 0), **some})


def looked(source):
    """Return counts, pause, leases and parked ones as a board reads them."""
    outlook = source.looking.outlook()
    parked = source.store.page(SOURCE, PartitionStatus.CLOSED, None, 400, parked=True)
    held = owners(source.store, SOURCE).held
    return counted(source.counts(), outlook), outlook.pause, held, parked


def test_parked_ones_are_told_by_their_errors_the_most_frequent_first(parked):
    [need] = needs_of(*looked(parked))
    assert (need.kind, need.number, need.what) == ("parked", 12, "12 parked")
    assert need.more == "6 OutOfMemory in stage 3 · 6 no such file"
    assert need.since == min(each.updated_at for each in looked(parked)[3])


def test_an_error_is_named_by_its_kind_and_of_many_the_others_are_counted(parked):
    found = list(looked(parked)[3])
    kinds = ["java.lang.OutOfMemoryError: heap", "AnalysisException: no column", "KeyError: 'x'", "OSError: 5", "E: 1"]
    for each, error in zip(found, kinds * 3, strict=False):
        object.__setattr__(each, "last_error", error)
    [need] = needs_of(counts(parked=500), NEVER_PAUSED, (), found)
    assert need.number == 500
    assert need.more == "3 AnalysisException · 3 OutOfMemoryError · 2 E · 2 other errors · of the first 12"


def test_a_pause_that_does_not_end_is_told_with_who_why_and_what_waits():
    [need] = needs_of(counts(claimable=400, expired=12), PAUSE, (), ())
    assert (need.kind, need.number, need.what, need.since) == ("paused", 412, "is paused", AT)
    assert need.more == "by carla: “tax rates are wrong” · 412 wait"
    braked = Pause(paused=True, by=BRAKE, why="10 failed alike", at=AT, op="o")
    [need] = needs_of(counts(claimable=1), braked, (), ())
    assert (need.what, need.more) == ("has paused itself", "“10 failed alike” · 1 waits")


def test_a_pause_that_ends_by_itself_needs_nobody():
    ends = Pause(paused=True, by="carla", why="w", at=AT, op="o", until=AT + MINUTE)
    assert needs_of(counts(claimable=4), ends, (), ()) == []
    assert trouble_of(counts(claimable=4), []) is None


def test_what_comes_from_people_cannot_turn_a_line_or_fill_a_screen():
    hostile = Pause(paused=True, by="ca\u202erla", why="a\nb" + "x" * 5_000, at=AT, op="o")
    [need] = needs_of(counts(claimable=1), hostile, (), ())
    assert "\u202e" not in need.more
    assert "\n" not in need.more
    assert len(need.more) < 500


@pytest.fixture
def holding(clocked):
    """A task that has described itself holds two partitions for six hours, and renews every half hour and a bit."""
    source = SourceCoordinator(clocked, "flights", "worker-7/d/r/t/9/1", ownership_timeout=timedelta(hours=6))
    source.create_partitions(["a", "b", "c"])
    source.describe_owner(application="app-1")
    return source


def test_who_has_missed_three_renewals_is_silent_while_the_lease_lasts(holding, clock):
    for key in ("a", "b"):
        holding.acquire_partition(key)
    clock.advance(108 * MINUTE)  # three renewals of 36 minutes
    assert needs_of(*looked(holding)) == []
    clock.advance(MINUTE)
    [need] = needs_of(*looked(holding))
    assert (need.kind, need.number, need.since, need.owner) == ("silent", 2, START, "worker-7/d/r/t/9/1")
    assert need.what == "worker-7 holds 2 and gives no sign"
    until = (START + timedelta(hours=6)).isoformat(timespec="minutes")
    assert need.more == f"a and 1 more · nobody else gets them before {until}"
    assert trouble_of(looked(holding)[0], [need]) == "silent"
    clock.advance(timedelta(hours=5))
    assert needs_of(*looked(holding)) == []  # it has ended: whoever comes next takes them


def test_a_renewal_and_saved_progress_are_signs(holding, clock):
    leases = [holding.acquire_partition(key) for key in ("a", "b")]
    clock.advance(100 * MINUTE)
    holding.renew(leases[0])
    holding.save_progress_state(leases[1], {"row": 1})
    clock.advance(100 * MINUTE)
    assert needs_of(*looked(holding)) == []
    assert {each.sign_at for each in looked(holding)[2]} == {START + 100 * MINUTE}


def test_of_who_has_not_said_how_long_its_leases_last_nothing_is_claimed(clocked, clock):
    older = SourceCoordinator(clocked, "flights", "older", ownership_timeout=timedelta(hours=6))
    older.create_partitions(["a"])
    older.acquire_partition("a")
    clock.advance(timedelta(hours=5))
    assert needs_of(*looked(older)) == []


@pytest.mark.parametrize(
    "said", ['{"lease_ms":"x","renewal_ms":1}', '{"lease_ms":1e99,"renewal_ms":1}', '{"lease_ms":-1}']
)
def test_what_other_software_says_of_its_leases_breaks_nothing(holding, said):
    holding._acquisition.owner_details = said
    holding.acquire_partition("a")
    [held] = owners(holding.store, SOURCE).held
    assert (held.sign_at, held.silent) == (None, False)


@pytest.mark.parametrize(
    ("some", "pause", "trouble", "said"),
    [
        ({"claimable": 5, "held": 1}, NEVER_PAUSED, None, None),
        ({"held": 1, "blocked": 3}, NEVER_PAUSED, None, None),
        (
            {"parked": 200, "blocked": 24, "claimable": 17_607},
            NEVER_PAUSED,
            "parked",
            "200 are parked: a person reopens them. 24 are blocked behind their parents. "
            "By itself: 17,607 claimable go to whoever comes next.",
        ),
        (
            {"parked": 1},
            NEVER_PAUSED,
            "parked",
            "1 is parked: a person reopens it. Nothing happens by itself.",
        ),
        (
            {"claimable": 412},
            PAUSE,
            "paused",
            "Nobody takes what is claimable (412) before a person resumes the source.",
        ),
        ({"blocked": 1}, NEVER_PAUSED, "blocked", "1 is blocked behind its parents. Nothing happens by itself."),
        ({"expired": 1, "held": 2}, NEVER_PAUSED, "expired", "By itself: 1 expired goes to whoever comes next."),
    ],
)
def test_a_source_says_what_is_wrong_and_what_happens_by_itself(some, pause, trouble, said):
    needs = needs_of(counts(**some), pause, (), ())
    assert trouble_of(counts(**some), needs) == trouble
    assert said_of(counts(**some), needs, pause) == said
