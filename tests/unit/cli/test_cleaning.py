"""``cleanup``: what it names, what it removes, and what it asks."""

from datetime import timedelta

import pytest

from airflow_coordination.cli.subcommands.acting import NAMED, age_of
from airflow_coordination.leases import PartitionIdentifier
from airflow_coordination.values.input_errors import SettingsError

CLEANUP = ("cleanup", "flights")


@pytest.fixture
def finished(flights):
    """Complete more parents than are named, and begin their child."""
    keys = [f"p{number:02}" for number in range(NAMED + 2)]
    flights.create_partitions([*keys, PartitionIdentifier("c", parents=keys)])
    for key in [*keys, "c"]:
        flights.complete(flights.acquire_partition(key))
    return keys


def test_a_dry_run_names_what_would_go(cli, flights, finished):
    code, _, said = cli(*CLEANUP, "--gone", "p03", "--gone", "2013-01", "--dry-run")
    assert (code, said) == (
        0,
        "Dry run: would clean up 1 finished parent(s) of source flights: 'p03'. Nothing was changed.\n",
    )
    gone = [option for key in finished for option in ("--gone", key)]
    _, _, said = cli(*CLEANUP, *gone, "--dry-run")
    assert "would clean up 12 finished parent(s) of source flights: 'p00', 'p01'" in said
    assert "'p09', …. Nothing was changed." in said
    assert flights.partition("p03") is not None


def test_it_removes_them_in_the_name_of_who_asks(cli, flights, finished):
    code, _, said = cli(*CLEANUP, "--gone", "p03", "--by", "ana", "--why", "the stream is gone", "--yes")
    assert (code, said) == (0, "Done: cleaned up 1 finished parent(s) of source flights.\n")
    assert flights.partition("p03") is None
    [line] = flights.looking.actions("p03")
    assert (line["action"], line["by"], line["why"]) == ("clean up", "ana", "the stream is gone")
    _, out, _ = cli("explain", "flights", "p03")
    assert "had finished, and was cleaned up" in out


def test_nothing_goes_before_its_time_and_then_nobody_is_asked(cli, flights, finished):
    code, _, said = cli(*CLEANUP)
    assert (code, said) == (0, "Done: cleaned up 0 finished parent(s) of source flights.\n")


def test_without_a_terminal_it_needs_a_yes(cli, flights, finished):
    code, _, err = cli(*CLEANUP, "--gone", "p03")
    assert code == 1
    assert "--yes" in err
    assert flights.partition("p03") is not None


@pytest.mark.parametrize(("text", "hours"), [("36h", 36), ("2d", 48)])
def test_an_age_is_hours_or_days(text, hours):
    assert age_of(text) == timedelta(hours=hours)


@pytest.mark.parametrize("text", ["", "1", "1.5d", "d", "-1d", "1w"])
def test_another_one_is_refused(text):
    with pytest.raises(SettingsError, match=r"--clean-after='.*': is no age\. Write a number of hours"):
        age_of(text)


def test_zero_is_no_age(cli, flights):
    code, _, err = cli(*CLEANUP, "--clean-after", "0h")
    assert code == 1
    assert "clean_after=datetime.timedelta(0): is zero" in err
