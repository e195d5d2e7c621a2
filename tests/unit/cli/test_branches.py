"""``branches …``, ``reset --branch`` and ``store enable branches`` on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from airflow_coordination.cli.context import CommandContext
from airflow_coordination.cli.standalone import run
from airflow_coordination.outputs.enabling import enabling_of
from airflow_coordination.stores import open_store
from tests.backfills import Month
from tests.unit.typed import PARSER, understood

WHY = ("--why", "late data", "--by", "ana", "-o", "json")
ENABLE = ("store", "enable", "branches")


@pytest.fixture
def month(tmp_path: Path) -> Month:
    return Month(open_store("memory://"), tmp_path)


@pytest.fixture
def cli(month, capsys):
    """Run a command line; return exit code, what it printed as JSON, and standard error."""

    def typed(*argv: str) -> tuple[int, Any, str]:
        args = PARSER.parse_args(argv)
        code = run(args.command, args, lambda _: CommandContext(lambda: month.store))
        out, err = capsys.readouterr()
        return code, json.loads(out) if out else None, err

    return typed


def branches(cli, name: str, *argv: str) -> tuple[int, Any, str]:
    return cli("branches", name, "flights", *argv, *WHY)


def test_a_month_is_replaced_and_taken_back(cli, month) -> None:
    keys = month.filled(1, 2)
    month.create("2013-01-03")
    code, [row], err = branches(cli, "begin", "--key-prefix", "2013-01", "--dry-run")
    assert (code, row["partitions"], row["interval"]) == (0, 2, "2013-01-01/2013-01-03")
    assert "1 are left out: they have completed nowhere yet" in err
    assert "Dry run: would let 2 partition(s) of source flights (prefix '2013-01') run again in a branch" in err
    assert month.c.documents.view().branches == ()
    code, _, err = branches(cli, "begin", "--interval", "2013-01/P1M", "-y")
    assert (code, "branch 1 of source flights has 2 partition(s); 2 reset" in err) == (0, True)
    publishes = understood(err.rpartition("When all have completed: ")[2].strip())
    assert (publishes.command.name, publishes.number) == ("publish", 1)

    code, _, err = branches(cli, "publish", "1", "-y")
    assert (code, "waits for 2 partition(s) to complete" in err) == (1, True)
    for key in keys:
        month.work(key, [f"{key} new", "and more"])
    [row] = cli("branches", "status", "flights", "-o", "json")[1]
    assert (row["branch"], row["state"], row["completed"], row["waits_for"]) == (1, "begun", 2, None)
    assert (row["selection"], row["by"], row["why"]) == ("interval 2013-01-01/2013-02-01", "ana", "late data")

    code, [row], err = branches(cli, "publish", "1", "--dry-run")
    assert (code, row["dataset"], row["partitions"], row["rows_before"], row["rows_after"]) == (0, "clean", 2, 2, 4)
    assert set(month.read()) == {f"{key} old" for key in keys}
    code, _, err = branches(cli, "publish", "1", "-y")
    assert (code, set(month.read())) == (0, {*(f"{key} new" for key in keys), "and more"})
    back = understood(err.rpartition("To take it back: ")[2].strip())
    assert (back.command.name, back.number) == ("roll-back", 1)

    month.c.people.reset(keys[0], "ana", "again")
    month.work(keys[0], ["since"])
    code, rows, err = branches(cli, "roll-back", "1", "--dry-run")
    assert (code, [row["key"] for row in rows]) == (0, [keys[0]])
    assert "since" in month.read()
    code, _, err = branches(cli, "roll-back", "1", "-y")
    assert (code, "1 partition(s) have published since, and keep that" in err) == (0, True)
    assert set(month.read()) == {"since", f"{keys[1]} old"}


def test_what_runs_for_nobody_is_named_with_what_to_type(cli, month) -> None:
    (key,) = month.filled(1)
    branches(cli, "begin", key, "-y")
    code, _, err = branches(cli, "roll-back", "1", "-y")
    assert (code, f"would be parked: '{key}'" in err) == (0, True)
    for way in ("finish", "reset"):
        typed = understood(next(line for line in err.splitlines() if f" {way} " in line).rpartition(": ")[2])
        assert (typed.command.name, typed.key) == (way, [key])


def test_what_readers_see_nothing_of_after_a_roll_back_is_named_with_what_to_type(cli, month) -> None:
    month.create("late")
    code, _, err = branches(cli, "begin", "--all", "-y")
    assert (code, "say --even-if-it-never-ran" in err) == (1, True)
    branches(cli, "begin", "--all", "--even-if-it-never-ran", "-y")
    month.work("late", ["row"])
    branches(cli, "publish", "1", "-y")
    code, [row], _ = branches(cli, "roll-back", "1", "--dry-run")
    assert (code, row["key"], row["keeps"]) == (0, "late", "nothing: it has published nowhere else")
    _, _, err = branches(cli, "roll-back", "1", "-y")
    assert "Readers see nothing of 1 partition(s), which published nowhere else: 'late'." in err
    typed = understood(err.rpartition("To let one do so: ")[2].strip())
    assert (typed.command.name, typed.key) == ("reset", ["late"])


def test_what_is_gone_is_retired_by_the_same_command(cli, month) -> None:
    month.create("hour")
    branches(cli, "begin", "--empty", "-y")
    month.create("day", branch=1)
    month.c.pausing.pause("ana", "a pause")
    assert branches(cli, "retire", "1", "hour", "-y")[0] == 1
    month.c.people.delete("hour", "ana", "a test file")
    code, [row], err = branches(cli, "retire", "1", "hour", "-y")
    assert (code, row["partitions"], row["first"], "retired 0 of 0" in err) == (0, 0, None, True)


def test_final_is_asked_for(cli, month) -> None:
    (key,) = month.filled(1)
    branches(cli, "begin", "--all", "-y")
    month.work(key, ["new"])
    assert branches(cli, "finalize", "1", "-y")[0] == 1
    branches(cli, "publish", "1", "-y")
    assert "Dry run: would make branch 1 of source flights final" in branches(cli, "finalize", "1", "--dry-run")[2]
    assert branches(cli, "finalize", "1", "-y")[0] == 0
    code, _, err = branches(cli, "roll-back", "1", "-y")
    assert (code, "is final" in err) == (1, True)


def test_hours_become_days(cli, month) -> None:
    month.create("2013-01-01T00", "2013-01-01T01")
    for key in ("2013-01-01T00", "2013-01-01T01"):
        month.work(key, [key])
    branches(cli, "begin", "--empty", "-y")
    month.create("2013-01-01", branch=1)
    month.work("2013-01-01", ["day"])
    code, [row], err = branches(cli, "retire", "1", "--key-prefix", "2013-01-01T", "--dry-run")
    assert (code, row["partitions"]) == (0, 2)
    assert "Nothing was changed" in err
    code, _, err = branches(cli, "retire", "1", "--key-prefix", "2013-01-01T", "-y")
    assert (code, "retired 2 of 2 partition(s)" in err) == (0, True)
    branches(cli, "publish", "1", "-y")
    assert set(month.read()) == {"day"}
    code, _, err = cli("reset", "flights", "2013-01-01T00", "-y", *WHY)
    assert (code, "--out-of-branch" in err) == (1, True)
    assert cli("reset", "flights", "2013-01-01T00", "--out-of-branch", "-y", *WHY)[0] == 0


def test_old_rows_of_what_publishes_nothing_are_named_and_can_go(cli, month) -> None:
    first, second = month.filled(1, 2)
    branches(cli, "begin", "--all", "-y")
    month.work(first, ["new"])
    month.c.complete(month.held(second))
    _, _, err = branches(cli, "publish", "1", "--dry-run")
    assert f"1 partition(s) have published nothing to clean in it: '{second}'. They keep their old rows." in err
    code, _, err = branches(cli, "publish", "1", "--empty-missing", "-y")
    assert (code, "They have nothing there then." in err) == (0, True)
    assert set(month.read()) == {"new"}


def test_what_the_command_line_refuses_names_its_options(cli, month) -> None:
    month.create("a")
    month.c.close(month.held("a"), month.c.store.now())
    code, _, err = branches(cli, "begin", "--all", "-y")
    assert (code, "or say --even-if-it-reopens" in err) == (1, True)
    code, _, err = branches(cli, "begin", "-y")
    assert (code, "names no partitions" in err) == (1, True)
    code, _, err = branches(cli, "begin", "--all")
    assert (code, "--even" in err) == (1, True)
    assert branches(cli, "begin", "--all", "--even-if-it-reopens", "-y")[0] == 0
    code, [row], err = branches(cli, "begin", "--branch", "1", "--even-if-it-reopens", "-y")
    assert (code, row["there"]) == (0, 1)


def test_a_reset_goes_into_a_branch(cli, month) -> None:
    first, second = month.filled(1, 2)
    branches(cli, "begin", first, "-y")
    given = ("-y", *WHY)
    code, _, err = cli("reset", "flights", first, *given)
    assert (code, "Reset it in the branch with --branch 1" in err) == (1, True)
    assert cli("reset", "flights", first, second, "--branch", "1", "--dry-run", *given)[0] == 0
    assert month.c.partition(second).branch is None
    assert cli("reset", "flights", first, second, "--branch", "1", *given)[0] == 0
    assert month.c.partition(second).branch == 1
    code, _, err = cli("reset", "flights", first, "--branch", "9", *given)
    assert (code, "branch=9: is not there" in err) == (1, True)


def test_branches_are_enabled_once_and_for_all(cli, month, tmp_path) -> None:
    assert "are enabled already" in cli(*ENABLE)[2]
    month.store = open_store("memory://")
    month.c = month.ingest()
    month.create("a")
    code, _, err = branches(cli, "begin", "--all", "-y")
    assert (code, "store enable branches" in err) == (1, True)
    code, _, err = cli(*ENABLE, "--dry-run")
    assert (code, "know no branches and no hidden intervals refuse this store" in err) == (0, True)
    assert "would publish at once what runs in a branch" in err
    assert not enabling_of(month.store).branches_enabled()
    assert cli(*ENABLE, "-y")[0] == 0
    assert enabling_of(month.store).branches_enabled()
    assert enabling_of(month.store).outputs_enabled()


def test_users_names_are_in_the_way_of_branches(cli, month) -> None:
    month.store = open_store("memory://")
    month.store.register("~mine|PARTITION", {})
    code, _, err = cli(*ENABLE, "-y")
    assert (code, "source '~mine'" in err) == (1, True)
    assert not enabling_of(month.store).branches_enabled()
