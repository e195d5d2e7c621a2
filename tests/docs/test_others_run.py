"""Commands on pages that are none of ours: what takes seconds runs, of ``make`` what it would do is asked.

:mod:`~.test_inline_commands` reads all of them, :mod:`~.test_commands_run` runs ours. What stands here as only read
takes minutes, the network, root, or an environment of its own; the reason says where it runs.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
from fnmatch import fnmatchcase
from functools import cache

import pytest

from tests.docs.pages import ROOT, label
from tests.docs.test_inline_commands import MORE, PAGES_TODAY, PLACEHOLDER, commands

IN_AN_AIRFLOW = "wants an Airflow's database: tests/docs/test_fresh_install.py and tests/system type them"
INSTALLS = "changes an environment: tests/docs/test_fresh_install.py and make matrix install into ones of their own"
MEASURES = "measures for minutes: make bench, whose smallest run is tests/house/test_benchmarks.py's"
PROVES = "takes minutes: make proof runs it, and writes docs/reliability.md"
ON_A_PAGE = "is run with its page, in whose directory its file lies"
ONLY_READ = {
    "airflow*": IN_AN_AIRFLOW,
    "*pip install*": INSTALLS,
    "python -m benchmarks*": MEASURES,
    "python -m pytest *": ON_A_PAGE,
    "python -m scripts.dashboard.picture": "wants a Prometheus: tests/docs/test_dashboard_picture.py draws it",
    "python -m tests.merging *": "takes half a minute: tests/merging runs it with other seeds",
    "python -m tests.processes *": PROVES,
    "python -m tests.proof *": PROVES,
    "scripts/accept.py": "writes what is pinned: make lint runs it to compare",
    "scripts/*_packages.py*": "downloads engines: make does so before tests that need them",
}
"""Which are only read, as patterns, and why."""


@cache
def typed() -> dict[str, str]:
    """Return all commands that are whole, each with one of its pages."""
    found: dict[str, str] = {}
    for page in [*PAGES_TODAY, *MORE]:
        for words in commands(page.read_text()):
            if words[0] != "-m" and not any(PLACEHOLDER.fullmatch(word) for word in words):
                found.setdefault(shlex.join(words), label(page))
    return found


def row_of(command: str) -> str | None:
    """Return the row of :data:`ONLY_READ` that a command is of, ``None`` where it is run."""
    return next((row for row in ONLY_READ if fnmatchcase(command, row)), None)


MADE = [command for command in typed() if command.split()[0] == "make"]
RUN = [command for command in typed() if command not in MADE and row_of(command) is None]


@pytest.mark.parametrize("command", MADE)
def test_make_knows_what_it_would_do(command: str) -> None:
    """Nothing is done: the lines are printed that would be, of the targets that it needs, too."""
    asked = subprocess.run([*shlex.split(command), "--dry-run"], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert asked.returncode == 0, asked.stderr
    assert asked.stdout.strip()


@pytest.mark.slow
@pytest.mark.parametrize("command", RUN)
def test_what_takes_seconds_runs(command: str) -> None:
    words = shlex.split(command)
    words = words[1:] if words[0] == "python" else words
    asked = subprocess.run([sys.executable, *words], cwd=ROOT, capture_output=True, text=True, timeout=240)
    assert asked.returncode == 0, asked.stdout + asked.stderr


def test_each_is_made_run_or_only_read_for_a_reason() -> None:
    """A row that is of no command any more goes."""
    assert {row for command in typed() if (row := row_of(command))} == set(ONLY_READ)
    assert len(MADE) > 30
    assert len(RUN) >= 4
