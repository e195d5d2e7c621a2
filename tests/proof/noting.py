"""A pytest plugin: notes what came of each test when it has ended, and leaves out what is noted.

So a row of the proof that takes hours goes on where it was broken off: ``-p tests.proof.noting --noted=file``.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.proof.lines import add, read


def pytest_addoption(parser: pytest.Parser) -> None:
    """Say where."""
    parser.addoption("--noted", type=Path, required=True, help="a file of lines of JSON, made with its first line")


def pytest_configure(config: pytest.Config) -> None:
    """Note from here on."""
    config.pluginmanager.register(_Noting(config.getoption("noted")))


class _Noting:
    def __init__(self, file: Path) -> None:
        self._file = file
        self._outcome, self._seconds = "passed", 0.0

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        known = {line["test"] for line in read(self._file)}
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid in known])
        items[:] = [item for item in items if item.nodeid not in known]

    def pytest_runtest_logstart(self) -> None:
        self._outcome, self._seconds = "passed", 0.0

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Of setup, call and teardown each counts that is no success."""
        self._seconds += report.duration
        if self._outcome != "failed" and report.outcome != "passed":
            self._outcome = report.outcome

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        add(self._file, {"test": nodeid, "outcome": self._outcome, "seconds": round(self._seconds, 3)})
