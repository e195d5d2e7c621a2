"""Tries generated mutants with the conformance kit, in memory and then on SQLite, and says what caught each.

usage: python -m tests.mutants.kit; every line that comes in is a JSON list of a mutant's name and ``null``, every line
that goes out a verdict. The kit is collected once, and each mutant lives in a child of this process: what is imported
for the first, none of the others has to import.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import tempfile
import time
import traceback
from dataclasses import asdict
from pathlib import Path
from typing import Final, TextIO

import pytest

from tests.mutants.generated import put_in_place
from tests.mutants.trial import Verdict

KIT: Final = (
    "tests/conformance/test_in_memory.py",
    "tests/conformance/test_sqlite.py",
    "tests/integration/stores/test_second_looks.py",
)
"""What is asked, the cheapest first: all engines read the same rule."""
CPU_SECONDS: Final = 120
"""Processor time after which a mutant is taken for one that does not come to an end; all tests together take 15."""
WALL_SECONDS: Final = 900
_CUT_OFF: Final = (-signal.SIGXCPU, -signal.SIGKILL, -signal.SIGALRM)


def _short(node: str) -> str:
    file, _, test = node.partition("::")
    return f"{file.rpartition('/')[2]}::{test}"


def _rule_of(name: str) -> str:
    return name.partition("/")[0]


class Trials:
    """A plugin that goes through the collected tests once for each mutant that is asked for, until one fails.

    :param asked: where the names come from.
    :param answers: where the verdicts go.
    """

    def __init__(self, asked: TextIO, answers: TextIO) -> None:
        self._asked, self._answers = asked, answers
        self._failed = ""
        self._caught: dict[str, list[str]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note what has failed first."""
        if report.failed and not self._failed:
            self._failed = _short(report.nodeid)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Answer until nobody asks any more."""
        for line in self._asked:
            self._try_in_child(session, json.loads(line)[0])
        return True

    def _try_in_child(self, session: pytest.Session, name: str) -> None:
        reading, writing = os.pipe()
        if child := os.fork():
            os.close(writing)
            with os.fdopen(reading) as said:
                verdict = said.read()
            ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            if ended in _CUT_OFF:
                verdict = json.dumps(asdict(Verdict(name, "it does not come to an end")))
            self._learn(name, verdict)
            print(verdict, file=self._answers, flush=True)
            return
        try:
            os.write(writing, json.dumps(asdict(self._tried(session, name))).encode())
        except BaseException:
            traceback.print_exc(file=sys.__stderr__)
        finally:
            os._exit(0)

    def _learn(self, name: str, verdict: str) -> None:
        """Remember what has caught a mutant: it is asked first about others of the same rule."""
        caught = json.loads(verdict)["caught_by"] if verdict else None
        known = self._caught.setdefault(_rule_of(name), [])
        if caught and caught not in known:
            known.append(caught)

    def _in_order(self, tests: list[pytest.Item], name: str) -> list[pytest.Item]:
        """Return the tests, those first that know the rule; none is left out."""
        known = {test: place for place, test in enumerate(self._caught.get(_rule_of(name), []))}
        return sorted(tests, key=lambda test: known.get(_short(test.nodeid), len(known)))

    def _tried(self, session: pytest.Session, name: str) -> Verdict:
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + 5))
        signal.alarm(WALL_SECONDS)
        put_in_place(name)
        began = time.process_time()
        tests = self._in_order([test for test in session.items if not test.get_closest_marker("postgres")], name)
        for number, test in enumerate(tests):
            following = tests[number + 1] if number + 1 < len(tests) else None
            test.config.hook.pytest_runtest_protocol(item=test, nextitem=following)
            if self._failed:
                break
        return Verdict(name, self._failed or None, seconds=time.process_time() - began)


def main() -> int:
    """Collect the kit, and try what is asked for."""
    asked, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    with tempfile.TemporaryDirectory() as scratch:
        options = ["-q", "-p", "no:cacheprovider", f"--basetemp={Path(scratch) / 'tests'}", "--no-header", "--tb=no"]
        return int(pytest.main([*KIT, *options], plugins=[Trials(asked, answers)]))


if __name__ == "__main__":
    sys.exit(main())
