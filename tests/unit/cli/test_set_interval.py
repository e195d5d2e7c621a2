"""``outputs set-interval``: intervals of what was published before anybody said them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from airflow_coordination.leases import Block, SourceCoordinator
from airflow_coordination.planning.intervals import Interval
from airflow_coordination.stores import open_store

KEYS = ("2013-01", "2013-02", "odd")


@pytest.fixture
def flights(url) -> SourceCoordinator:
    store = open_store(url)
    store.setup()
    flights = SourceCoordinator(store, "flights", "owner")
    flights.create_partitions([*KEYS, "2013-03"])
    while (lease := flights.get_next_partition()) is not None:
        said = "2013-03-05/P1D" if lease.key == "2013-03" else None
        flights.complete(lease, [Block("clean", f"/{lease.key}", lease.key, 1, 1)], interval=said)
    return flights


@pytest.fixture
def run(cli, flights):
    """Run the command; return exit code, what it shows by key and standard error."""

    def run(*options: str) -> tuple[int, dict[str, Any], str]:
        given = ("flights", "--dataset", "clean", "--why", "known", "--by", "ana", "-o", "json")
        code, out, err = cli("outputs", "set-interval", *given, *options)
        return code, {row["key"]: row["interval"] for row in json.loads(out or "[]")}, err

    return run


def intervals(flights: SourceCoordinator) -> dict[str, str]:
    return {
        head.key: str(Interval(head.interval_start, head.interval_end))
        for head in flights.store.heads("flights|PARTITION")
        if head.interval_start is not None and head.interval_end is not None
    }


THERE = {"2013-03": "2013-03-05/2013-03-06"}
TOLD = {"2013-01": "2013-01-01/2013-02-01", "2013-02": "2013-02-01/2013-03-01"}


def test_a_dry_run_shows_what_keys_tell_and_sets_nothing(run, flights) -> None:
    code, shown, err = run("--from-key", "%Y-%m", "--dry-run")
    assert (code, shown) == (0, TOLD)
    assert "Dry run: would set the interval of 2 head record(s) of dataset clean of source flights." in err
    assert "1 have an interval and keep it; --replace gives them another one." in err
    assert "1 have keys that tell none by '%Y-%m'." in err
    assert intervals(flights) == THERE


def test_it_is_set_where_there_is_none_and_audited(run, flights) -> None:
    code, _, err = run("--from-key", "%Y-%m", "--yes")
    assert (code, intervals(flights)) == (0, TOLD | THERE)
    assert "Done: set the interval of 2 of 2 head record(s)" in err
    [audited] = flights.store.audit("flights|PARTITION", "2013-01")
    assert (audited["action"], audited["by"], audited["why"]) == ("set interval", "ana", "known")
    assert "There is nothing to set." in run("--from-key", "%Y-%m", "--yes")[2]


def test_another_one_takes_the_place_of_what_is_there_only_if_asked(run, flights) -> None:
    run("--from-key", "%Y-%m", "--replace", "--yes")
    assert intervals(flights) == TOLD | {"2013-03": "2013-03-01/2013-04-01"}


def test_of_one_partition_it_is_said_in_words(run, flights) -> None:
    code, _, _ = run("--interval", "2012/P1Y", "--key", "odd", "--yes")
    assert (code, intervals(flights)) == (0, THERE | {"odd": "2012-01-01/2013-01-01"})


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "Give --from-key, or --interval and --key together"),
        (("--interval", "2013/P1Y"), "Give --from-key, or --interval and --key together"),
        (("--from-key", "%Y", "--interval", "2013/P1Y", "--key", "odd"), "Give --from-key, or"),
        (("--key", "odd", "--from-key", "%Y"), "Give --from-key, or"),
        (("--from-key", "%j"), "%j"),
        (("--interval", "2013", "--key", "odd"), "has no slash"),
    ],
)
def test_what_makes_no_sense_is_named_and_sets_nothing(run, flights, options, said) -> None:
    code, _, err = run(*options, "--yes")
    assert code != 0
    assert said in err
    assert intervals(flights) == THERE
