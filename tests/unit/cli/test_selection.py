"""People's actions on all that a filter finds."""

import json
import sys

import pytest

from airflow_coordination.cli.subcommands import acting
from airflow_coordination.leases import PartitionStatus
from airflow_coordination.monitoring import selection
from tests.unit.cli.conftest import HOSTILE

KEYS = [f"2014-{number:02}" for number in range(1, 13)]


@pytest.fixture
def parked(flights):
    """Twelve months that failed for two reasons, and three partitions that did not."""
    flights.create_partitions([*KEYS, "2014", "2015-01"])
    for number, key in enumerate(["2014", *KEYS, "2015-01"]):
        flights.fail(flights.acquire_partition(key), "OutOfMemory in stage 3" if number % 2 else "no such file")
    return flights


def states(coordinator):
    return {one.key: one.status for one in coordinator.partitions()}


def test_a_filter_is_counted_sampled_and_said_before_anything_is_done(parked, cli):
    code, out, err = cli("reopen", "flights", "--why", "w", "--status", "PARKED", "--dry-run", "-o", "json")
    assert code == 0
    assert [row["key"] for row in json.loads(out)] == ["2014", *KEYS[:4]]
    assert "14 partition(s) of source flights are PARKED. These are the first 5 by key." in err
    assert "Dry run: would reopen 14 of 14 partition(s) of source flights. Nothing was changed." in err
    assert set(states(parked).values()) == {PartitionStatus.CLOSED, PartitionStatus.UNASSIGNED}


def test_only_what_the_filter_finds_is_acted_on(parked, cli):
    argv = ("flights", "--why", "more memory", "--error-like", "outofmemory", "--key-prefix", "2014")
    code, _, err = cli("reopen", *argv, "--yes")
    assert code == 0
    assert (
        "6 partition(s) of source flights have a last error with 'outofmemory' in it and have a key that begins" in err
    )
    assert "Done: reopen 6 of 6 partition(s) of source flights." in err
    open_again = {key for key, status in states(parked).items() if status is PartitionStatus.UNASSIGNED}
    assert open_again == {"2013-01", "2013-02", HOSTILE, *KEYS[::2]}
    [line] = parked.store.audit("flights|PARTITION", "2014-01")
    assert (line["action"], line["why"]) == ("reopen", "more memory")


def test_a_prefix_is_a_key_as_well_and_a_start_may_lie_within(parked, cli):
    argv = ("park", "flights", "--why", "w", "--key-prefix", "2014", "--dry-run", "-o", "json")
    assert "13 partition(s)" in cli(*argv)[2]
    assert "2 partition(s)" in cli(*argv, "--after", "2014-10")[2]
    assert "13 partition(s)" in cli(*argv, "--after", "2013")[2]
    assert "0 partition(s)" in cli(*argv, "--after", "2015")[2]


def test_a_filter_works_page_by_page(parked, cli, monkeypatch):
    monkeypatch.setattr(selection, "_PAGE", 5)
    assert "14 partition(s)" in cli("reopen", "flights", "--why", "w", "--status", "PARKED", "--dry-run")[2]


def test_what_the_limit_leaves_is_done_by_the_same_command_again(parked, cli):
    argv = ("reopen", "flights", "--why", "w", "--status", "PARKED", "--limit", "8", "--yes")
    code, _, err = cli(*argv)
    assert code == 0
    assert "14 partition(s) of source flights are PARKED. These are the first 5 by key. At most 8 are meant" in err
    assert "Done: reopen 8 of 8" in err
    assert "Done: reopen 6 of 6" in cli(*argv)[2]
    code, out, err = cli(*argv)
    assert (code, out) == (0, "")
    assert "0 partition(s) of source flights are PARKED." in err
    assert "Nothing was changed." in err


def test_what_moved_since_it_was_counted_is_refused_and_the_rest_is_done(parked, cli, monkeypatch):
    counted = acting.selected

    def then_somebody_else_acts(*given):
        found = counted(*given)
        parked.people.reopen("2014-01", by="ana", why="first")
        return found

    monkeypatch.setattr(acting, "selected", then_somebody_else_acts)
    code, _, err = cli("reset", "flights", "--why", "w", "--status", "PARKED", "--yes")
    assert code == 1
    assert "Cannot reset partition '2014-01': it changed meanwhile and is UNASSIGNED now" in err
    assert "Done: reset 13 of 14" in err
    assert parked.partition("2014-01").rank.name == "REOPENED"


def test_many_refusals_are_counted(parked, cli):
    code, _, err = cli("release", "flights", "--why", "w", "--status", "PARKED", "--dry-run")
    assert code == 1
    assert err.count("Error: Cannot release partition") == 10
    assert "Error: 4 more were refused." in err
    assert "would release 0 of 14" in err


def test_going_through_many_draws_a_bar_on_a_terminal_and_forgets_nothing(parked, cli, monkeypatch, capsys):
    monkeypatch.setattr(acting, "MANY", 2)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    code, _, _ = cli("reopen", "flights", "--why", "w", "--status", "PARKED", "--yes")
    assert code == 0
    assert PartitionStatus.CLOSED not in states(parked).values()


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ((), "key=None: is missing. Name partitions, or give a filter: --status PARKED, --error-like TEXT"),
        (("2014", "--status", "PARKED"), "key='2014': is named beside a filter. Name the partitions, or give a filter"),
        (("--error-like", ""), "--error-like='': is empty"),
        (("--key-prefix", ""), "--key-prefix='': is empty"),
        (("--key-prefix", "x" * 3000), "--key-prefix"),
        (("--status", "PARKED", "--limit", "0"), "limit=0: is not a number of partitions"),
        (("absent",), "absent"),
    ],
)
def test_what_means_nothing_is_refused(parked, cli, argv, message):
    before = states(parked)
    code, out, err = cli("reopen", "flights", *argv, "--why", "w", "--yes")
    assert (code, out) == (1, "")
    assert message in err
    assert states(parked) == before


def test_a_partition_is_parked_by_hand(flights, cli):
    held = flights.acquire_partition("2013-01")
    code, _, err = cli("park", "flights", "2013-01", "--why", "bad file", "--by", "ana", "--yes")
    assert code == 0, err
    assert flights.partition("2013-01").parked
    assert flights.partition("2013-01").ending_of(held.fence).outcome == "released"
