"""Every command of ours in the text of a page runs, on a small store that has what it is about.

A command that acts is tried with ``--dry-run`` where it has one, and then done. What stands in a block that is run with
its page (``<!-- run -->``) has run there. What needs what a small store has not stands in :data:`ONLY_READ`, with the
reason; :mod:`~.test_commands` reads it all the same.
"""

from __future__ import annotations

import shutil
from argparse import Namespace
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

import pytest

from airflow_coordination.cli.standalone import main
from airflow_coordination.leases import Block, PartitionIdentifier, Settings, SourceCoordinator
from airflow_coordination.stores import open_store
from airflow_coordination.values.accounting import Accounting
from tests.docs.pages import label, steps
from tests.docs.test_commands import PAGES_TODAY, commands_of, reader, words_of
from tests.docs.test_inline_commands import MORE

WITH_SPARK = "starts Spark, which takes half a minute: tests/integration/spark runs it"
ON_S3 = "publishes on S3: tests/integration/outputs_s3 does"
WITH_FILES = "reads a file that the page describes: its block is run, with the file, where it stands as one"
ON_DYNAMODB = "opens a table of DynamoDB's, or of the KCL's: tests/integration/dynamodb and tests/unit/cli do"
IN_AIRFLOW = "wants an Airflow with DAGs: tests/system and tests/integration/airflow run it"
ONLY_READ = {
    "compaction run *": WITH_SPARK,
    "branches diff *": WITH_SPARK,
    "duties run --output-root *": ON_S3,
    "outputs collect *": ON_S3,
    "outputs purge *": ON_S3,
    "rules set *": WITH_FILES,
    "import *": WITH_FILES,
    "import-kcl *": ON_DYNAMODB,
    "iam worker": ON_DYNAMODB,
    "grants worker": "asks the store, which must be in PostgreSQL: tests/docs/test_postgres_roles.py does",
    "store new-id --store postgresql*": "names a store in PostgreSQL: tests/unit/cli gives a copy an id",
    "watch flights": "looks until nothing is left to do: with --looks it runs here",
    "branches publish *": "wants a branch whose partitions have completed: tests/integration/spark does",
    "branches retire *": "wants a branch with rows in it: tests/unit/cli does",
    "compaction [!r]*": "wants sums that the planner has written: tests/unit/cli and tests/integration/spark do",
    "quickstart*": IN_AIRFLOW,
    "reset *--run*": IN_AIRFLOW,
}
"""Which commands are only read, as patterns, and why."""
ONE = {"doctor": "there is no Airflow and no Spark here, and it says so", "finish-actions": "some notes stay"}
"""Which may end with 1, and what that says."""
BRANCHES = 8
"""Branches of the source, of which the pages name the seventh and the eighth."""
MONTHS = ("2013-01", "2013-02", "2013-03", "2013-04")
OF_THE_STORE = {"--store", "--conn-id"}


def standing(text: str) -> Iterator[list[str]]:
    """Yield the words of each whole command in a text; of one whose end is left to the reader nothing."""
    for command in commands_of(text):
        words = words_of(command)
        if "…" not in words[-1:] and is_whole(words):
            yield words


def is_whole(words: list[str]) -> bool:
    """Return whether it can be typed as it stands: some are names of commands, in a sentence."""
    try:
        reader().parse_args(words)
    except SystemExit:
        return False
    return True


@cache
def all_commands() -> dict[tuple[str, ...], str]:
    """Return the commands on all pages that are tried here, each with one of its pages."""
    found: dict[tuple[str, ...], str] = {}
    for page in [*PAGES_TODAY, *MORE]:
        run = "\n".join(step["text"] for step in steps(page) if step["kind"] == "shell")
        there = {tuple(words_of(command)) for command in commands_of(f"```bash\n{run}\n```")}
        for words in standing(page.read_text()):
            if tuple(words) not in there:
                found.setdefault(tuple(words), label(page))
    return found


def left_out(words: tuple[str, ...]) -> str | None:
    """Return the row of :data:`ONLY_READ` that a command is of, ``None`` where it is run."""
    return next((row for row in ONLY_READ if fnmatchcase(" ".join(words), row)), None)


RUN = {words: page for words, page in all_commands().items() if left_out(words) is None}


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty store, of which each test has a copy."""
    file = tmp_path_factory.mktemp("template") / "store.db"
    store = open_store(f"sqlite:///{file}")
    store.setup()
    store.close()
    return file


@pytest.fixture
def url(template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A store of this test's own, and a directory to write in."""
    shutil.copy(template, tmp_path / "store.db")
    monkeypatch.chdir(tmp_path)
    for variable in ("COORDINATION_STORE", "AIRFLOW_HOME"):
        monkeypatch.delenv(variable, raising=False)
    return f"sqlite:///{tmp_path}/store.db"


def without_store(words: tuple[str, ...]) -> list[str]:
    """Return the words but for those that name a store: here it is ours."""
    kept: list[str] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word in OF_THE_STORE:
            rest.pop(0)
        elif word.partition("=")[0] not in OF_THE_STORE:
            kept.append(word)
    return kept


def prepare(url: str, asked: Namespace, name: str) -> None:
    """Make what a command is about: its source, with partitions in several states, and the one that it names."""
    store = open_store(url)
    source = asked.source if isinstance(getattr(asked, "source", None), str) else "flights"
    made = SourceCoordinator(store, source, "host/dag/run/process/0/1", settings=Settings(max_failures=1))
    made.supplying.register()
    named = getattr(asked, "key", None) or []
    keys = [named] if isinstance(named, str) else list(named)
    try:
        make(made, keys, name)
    finally:
        store.close()


def make(made: SourceCoordinator, keys: list[str], name: str) -> None:
    completed, parked, held, _ = MONTHS
    made.create_partitions([PartitionIdentifier(key) for key in dict.fromkeys([*MONTHS, *keys])])
    for key in {completed, *keys} if name == "retract" else {completed} - set(keys):
        publish(made, key)
    for key in {parked, *keys} if name in ("reopen", "explain") else {parked} - set(keys):
        made.fail(made.acquire_partition(key), "OutOfMemoryError in stage 3")
    for key in {held, *keys} if name == "release" else {held} - set(keys):
        made.acquire_partition(key)
    if name == "export":
        made.people.release(held, by="ana", why="it moves")
    if name in ("resume", "export"):
        made.pausing.pause("ana", "upgraded", None)


def publish(made: SourceCoordinator, key: str) -> None:
    """Complete a partition, with what became of its records."""
    block = Block("clean", f"/out/{key}", "b" * 64, 2, 20)
    counted = Accounting(read=3, delivered_everywhere=2, dead_lettered=1)
    made.complete(made.acquire_partition(key), [block], counted=counted)


def prepare_for_groups(url: str, words: list[str], asked: Namespace) -> None:
    """Make what commands with a word before their name are about: branches, versions of the configuration, a group."""
    group, name = words[0], words[1] if len(words) > 1 else ""
    more: list[list[str]] = []
    if group == "branches" or (group, name) in {("outputs", "hide"), ("outputs", "restore")}:
        more += [["store", "enable", "branches", "--yes"]]
        dated = ["--dataset", "clean", "--from-key", "%Y-%m", "--why", "w", "--yes"]
        more += [["outputs", "set-interval", asked.source, *dated]]
    if group == "branches" and hasattr(asked, "number"):
        more += BRANCHES * [["branches", "begin", asked.source, "--empty", "--why", "w", "--yes"]]
    for each in more:
        assert main([*each, "--store", url]) == 0, each


@pytest.mark.parametrize("words", RUN, ids=" ".join)
def test_a_command_of_a_page_runs(words: tuple[str, ...], url: str, capsys: pytest.CaptureFixture[str]) -> None:
    typed = without_store(words)
    asked = reader().parse_args(typed)
    name = typed[0]
    prepare(url, asked, name)
    prepare_for_groups(url, typed, asked)
    given = [*typed, *(["--yes"] if getattr(asked, "yes", None) is False else [])]
    if hasattr(asked, "dry_run"):
        tried = given if asked.dry_run else [*given, "--dry-run"]
        ran(tried, url, name, capsys)
    if not getattr(asked, "dry_run", False):
        ran(given, url, name, capsys)


def ran(words: list[str], url: str, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Run it; it ends with 0, or says why not."""
    capsys.readouterr()
    has_store = reader().parse_args(words).command.has_store
    code = main([*words, *(["--store", url] if has_store else [])])
    said = capsys.readouterr()
    assert code in ({0, 1} if name in ONE else {0}), f"{words} ends with {code}: {said.err or said.out}"
    assert "Error:" not in said.err


def test_what_is_only_read_is_on_a_page() -> None:
    """A row that is of no command any more goes."""
    assert {row for words in all_commands() if (row := left_out(words))} == set(ONLY_READ)


def test_most_commands_run() -> None:
    assert len(RUN) > 3 * sum(left_out(words) is not None for words in all_commands())


def test_a_command_that_does_not_run_is_seen(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The check can fail."""
    with pytest.raises(AssertionError, match="no such key"):
        test_a_command_of_a_page_runs(("accounting", "flights", "no such key", "--dataset", "x"), url, capsys)
