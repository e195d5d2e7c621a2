"""``outputs purge``: exactly the files, why each goes, and nothing without --yes and a reason."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.retention import DAY, SOURCE, Archive
from tests.unit.cli.on_a_store import cli_on
from tests.unit.duties.test_purged_files import Files, files

assert files  # the fixture


@pytest.fixture
def run(files: Files, capsys):
    """Run the command; return exit code, sizes by file and standard error."""
    typed = cli_on(files.store, capsys)

    def run(*options: str) -> tuple[int, dict[str, Any], str]:
        about = (SOURCE, "--dataset", "clean", "--output-root", str(files.root), "-o", "json")
        code, out, err = typed("outputs", "purge", *about, *options)
        return code, {row["file"]: row["bytes"] for row in json.loads(out or "[]")}, err

    return run


def hidden(files: Archive) -> None:
    files.hide()
    files.clock.advance(31 * DAY)


def test_nothing_is_said_where_nothing_is_old(run, files: Files) -> None:
    files.hide()
    assert run() == (0, {}, "There is nothing to purge.\n")


@pytest.mark.parametrize("how", [(), ("--dry-run",), ("--dry-run", "--yes", "--why", "space")])
def test_a_dry_run_names_the_files_and_changes_nothing(run, files: Files, how: tuple[str, ...]) -> None:
    hidden(files)
    code, told, err = run(*how)
    assert (code, set(told)) == (0, files.foreseen())
    assert all(Path(path).stat().st_size == size for path, size in told.items())
    number = f"lets {len(told)} file(s) go, {sum(told.values())} bytes"
    assert f"Dry run: would empty 2 head record(s) of source flights, which {number}. Nothing was changed" in err
    assert "2013-01-01/2013-02-01 of 'clean' is marked, from where on nobody can restore it." in err
    assert "'a' of clean, 'b' of clean: 2013-01-01/2013-02-01 of 'clean' was hidden by ana" in err
    files.restore()


def test_with_yes_they_go(run, files: Files) -> None:
    hidden(files)
    told = files.foreseen()
    code, shown, err = run("--yes", "--why", "space", "--by", "eve")
    assert (code, set(shown)) == (0, told)
    assert "Done: marked 1 interval(s), emptied 2 head record(s), 1 interval(s) and 0 branch(es)" in err
    assert "outputs collect flights" in err
    files.clock.advance(DAY)
    assert files.collect() == told | files.replaced
    newest, marked = files.flights.documents.history("view", limit=2)
    assert (newest.author, newest.comment, marked.comment) == ("eve", "nothing is left; space", "space")


def test_so_many_at_once(run, files: Files) -> None:
    hidden(files)
    _, told, err = run("--most", "1")
    assert told
    assert "would empty 1 head record(s)" in err
    assert not [path for path in told if "-b/" in path]


def test_what_waits_is_told_with_what_to_do_and_makes_it_red(run, files: Files) -> None:
    hidden(files)
    files.reset("a")
    assert files.flights.acquire_partition("a") is not None
    code, told, err = run()
    assert (code, "1 partition(s) wait, held by an owner: wait for its lease, or release it." in err) == (1, True)
    assert not [path for path in told if "-a/" in path]
    assert run("--yes", "--why", "space")[0] == 1


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--buffer", "30D"), "--buffer"),
        (("--buffer", "PT0S"), "Give P30D"),
        (("--retain=-P1D",), "Give P90D"),
        (("--most", "0"), "Give 1 or more"),
        (("--yes",), "--why"),
    ],
)
def test_what_cannot_be_meant_is_refused_and_nothing_is_changed(run, files: Files, options, says: str) -> None:
    hidden(files)
    code, _, err = run(*options)
    assert (code, says in err) == (1, True)
    files.restore()


def test_who_knows_may_purge_at_once(run, files: Files) -> None:
    files.hide()
    code, told, _ = run("--buffer", "PT0S", "--i-know", "--yes", "--why", "a request")
    assert (code, len(files.full())) == (0, 4)
    assert told
