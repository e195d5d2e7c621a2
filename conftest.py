"""Marks tests by what they need, and says which of them run in one process.

Hypothesis takes the same examples each time, and as long for one as the machine needs: a change is judged by what it
changes. ``--hypothesis-profile=default`` lets it look for new ones.
"""

from __future__ import annotations

import gc
from pathlib import Path

import pytest
from hypothesis import settings
from xdist.remote import Producer
from xdist.scheduler.loadscope import LoadScopeScheduling

from tests.left_out import choices, row_of

settings.load_profile("ci")
gc.disable()  # until the tests begin: it searches what is collected again and again, and all of that lives on
_ROOT = Path(__file__).parent
_BY_FIXTURE = {
    "postgres_cluster": "postgres",
    "spark": "spark",
    "dynamodb_local": "dynamodb",
    "kafka": "kafka",
    "kinesis": "kinesis",
    "kinesis_local": "kinesis",
    "kinesalite": "kinesis",
    "opensearch_node": "opensearch",
}
_SYSTEM, _BROWSER, _UNIT, _KIT = "tests/system/", "tests/browser/", "tests/unit/", "tests/conformance/"
_LONGEST = (
    _SYSTEM,
    _BROWSER,
    "tests/docs/test_snippets.py",
    "tests/integration/crash_points/",
    "tests/integration/kinesis/test_kills.py",
    "tests/integration/spark/test_worker_pool.py",
    "tests/integration/spark_faults/",
    "tests/properties/test_stores_agree.py",
    "tests/simulation/test_simulation.py",
)
"""Begun first, so that no process is left with one of them when the others are done."""
_ENGINES = {"slow", "postgres", "dynamodb", "kafka", "kinesis", "opensearch", "spark", "system"}
_CHOICES = choices()
_MAKEFILE = (_ROOT / "Makefile").read_text().splitlines()
_TIMED = [_ROOT / place for line in _MAKEFILE if line.startswith("TIMED := ") for place in line.split()[2:]]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let the proof ask for what one row decides about."""
    parser.addoption("--row", help="only those tests that this row of tests/left_out.py runs")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark by fixture and by folder, before pytest selects by mark; let what takes longest begin first."""
    long = {item for item in items if item.get_closest_marker("long")}  # whatever this commit leaves out
    for item in items:
        for fixture in _BY_FIXTURE.keys() & set(getattr(item, "fixturenames", ())):
            item.add_marker(_BY_FIXTURE[fixture])
        if item.nodeid.startswith(_SYSTEM):
            item.add_marker("system")
        if item.nodeid.startswith(_KIT):
            item.add_marker("kit")
        if _CHOICES.leaves_out(item.nodeid):
            item.add_marker("long")
        _check_folder(item)
    if name := config.getoption("row"):
        of_it = {item for item in items if row_of(name).runs(item.nodeid, long=item in long)}
        config.hook.pytest_deselected(items=[item for item in items if item not in of_it])
        items[:] = [item for item in items if item in of_it]
    items.sort(key=lambda item: not item.nodeid.startswith(_LONGEST))


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop() -> None:
    """Search for dead cycles from here on, and only in what tests make."""
    gc.enable()
    gc.freeze()


def pytest_report_header() -> list[str]:
    """Say what this commit tries of what CI tries in part (``tests/left_out.py``)."""
    return [f"of {line}" for line in _CHOICES]


def _check_folder(item: pytest.Item) -> None:
    """Refuse a test that no part of ``make test`` would run: it looks for slow and timed ones in some places."""
    marks = {mark.name for mark in item.iter_markers()}
    needs = sorted(marks & _ENGINES)
    if "timed" in marks and not any(item.path.is_relative_to(place) for place in _TIMED):
        raise pytest.UsageError(f"{item.nodeid} is timed, so the Makefile's TIMED must have its file")
    if needs and item.nodeid.startswith(_UNIT):
        raise pytest.UsageError(f"{item.nodeid} is {', '.join(needs)}, so it does not belong into tests/unit")


class ByFile(LoadScopeScheduling):
    """Gives a process the tests of a file, and all that share the Airflow of ``tests/system`` or ``tests/browser``."""

    def _split_scope(self, nodeid: str) -> str:
        folder, _, file = nodeid.partition("::")[0].rpartition("/")
        return folder if f"{folder}/" in (_SYSTEM, _BROWSER) else f"{folder}/{file}"


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> ByFile | None:
    """Take the place of what xdist does for ``--dist loadfile``."""
    return ByFile(config, log) if config.getvalue("dist") == "loadfile" else None
