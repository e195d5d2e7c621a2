"""What is tried in a cell: each step says one line, or how it failed."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.docs.pages import steps
from tests.matrix import airflow_names
from tests.matrix.cells import Cell
from tests.matrix.making import ROOT

FROM_3_3: Final = "airflow_coordination.hooks.retries"
"""The one module that an older Airflow cannot load, nor needs to."""
_WITHIN: Final = {"imports": 600, "readme": 1500, "drain": 900, "board": 1800, "unit": 2700}
"""Seconds, on a busy machine."""
_ROOMS: Final = ("decorators", "hooks", "operators", "submission", "values")
_BOARD: Final = ("tests/integration/board/test_reading.py", "tests/integration/board/test_plugin.py")


@dataclass(frozen=True, slots=True)
class Tried:
    """How a step ended.

    :param ok: whether it did what it should.
    :param said: one line.
    :param seconds: that it took.
    """

    ok: bool
    said: str
    seconds: int


class StepFailedError(Exception):
    """A step did not do what it should; the text says what."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a step runs.

    :param python: the cell's interpreter.
    :param work: an empty directory.
    :param log: keeps all that is printed.
    """

    cell: Cell
    python: Path
    work: Path
    log: Path

    def run(self, *command: str | Path, within: int, cwd: Path | None = None) -> str:
        """Return what a command printed; all of its processes end with it.

        :raises StepFailedError: when it fails, or is not over in time.
        """
        with self.log.open("a+") as log:
            begins = log.tell()
            process = subprocess.Popen(
                command, cwd=cwd or self.work, env=self.environment(), stdout=log, stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL, start_new_session=True,
            )  # fmt: skip
            try:
                code = process.wait(within)
            except subprocess.TimeoutExpired:
                raise StepFailedError(f"not over after {within} s") from None
            finally:
                _end(process)
            log.seek(begins)
            said = log.read()
        if code:
            raise StepFailedError(_last(said) or f"exit code {code}")
        return said

    def environment(self) -> Mapping[str, str]:
        """Return the environment of a stranger: no settings of this repository's, the cell's programs first."""
        ours = ("AIRFLOW", "PYTHON", "VIRTUAL_ENV", "SPARK")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
        path = f"{self.python.parent}{os.pathsep}{kept['PATH']}"
        return {**kept, "PATH": path, "AIRFLOW_HOME": str(self.work / "airflow"), "SPARK_LOCAL_IP": "127.0.0.1"}


def imports(place: Place) -> str:
    """Import every module, and look for each name of Airflow's that the package takes."""
    airflow = place.cell.airflow
    assert airflow is not None  # a cell without one has no such step
    modules, names = (
        place.run(
            place.python, ROOT / f"tests/matrix/{program}.py", *beyond(airflow.version), within=_WITHIN["imports"]
        )
        for program in ("load_modules", "airflow_names")
    )
    return f"{_last(modules)}, {airflow_names.keep(airflow.version, names)} names of Airflow's"


def beyond(version: str) -> list[str]:
    """Return our modules that a version of Airflow is too old for."""
    return [] if version.startswith("3.3.") else [FROM_3_3]


def told(cell: Cell) -> list[dict[str, Any]]:
    """Return what README says to do, with the program that is there: Airflow 3.1 takes no commands of ours."""
    found = steps(ROOT / "README.md")
    if cell.airflow and cell.airflow.version.startswith("3.1."):
        ours = ("airflow coordination", "python -m airflow_coordination")
        return [{**step, "text": step["text"].replace(*ours)} for step in found]
    return found


def readme(place: Place) -> str:
    """Do what README says, and see that both partitions are completed."""
    (place.work / "steps.json").write_text(json.dumps(told(place.cell)))
    page = place.work / "page"
    page.mkdir()
    runner = ROOT / "tests/docs/run_page.py"
    place.run(place.python, runner, place.work / "steps.json", within=_WITHIN["readme"], cwd=page)
    store = f"sqlite:///{page / 'airflow' / 'coordination.db'}"
    look = (
        "import sys; from airflow_coordination import SourceCoordinator, open_store; "
        "c = SourceCoordinator(open_store(sys.argv[1]), 'flights', 'matrix'); "
        "print([c.partition(key).status.value for key in ('2013-01', '2013-02')])"
    )
    said = place.run(place.python, "-c", look, store, within=300).strip().splitlines()[-1]
    if said != "['COMPLETED', 'COMPLETED']":
        raise StepFailedError(f"the partitions are {said}")
    return "2 partitions completed"


def drain(place: Place) -> str:
    """Drain a partition with pyspark, whatever else is there."""
    text = (ROOT / "scripts/without_airflow.py").read_text()
    if place.cell.airflow is not None:
        text = text.replace('if find_spec("airflow"):', "if False:")
    (place.work / "drain.py").write_text(text)
    return place.run(place.python, "-I", "drain.py", place.work / "data", within=_WITHIN["drain"])


def board(place: Place) -> str:
    """Ask the board's routes, with tokens of Airflow's own auth manager."""
    return _tests(place, *_BOARD, within=_WITHIN["board"])


def unit(place: Place) -> str:
    """Run the unit tests of the rooms that import Airflow, of what everything speaks in, and of the provider.

    The whole suite, 4,400 tests, takes half an hour where these take minutes; what the other rooms do is seen by the
    drain, README's DAG and the board's routes (decision 146).
    """
    provider = sorted(str(file.relative_to(ROOT)) for file in (ROOT / "tests/unit").glob("test_*.py"))
    return _tests(place, "-n", "2", *(f"tests/unit/{room}" for room in _ROOMS), *provider, within=_WITHIN["unit"])


def _tests(place: Place, *words: str, within: int) -> str:
    return place.run(place.python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *words, within=within, cwd=ROOT)


STEPS: Final[Mapping[str, Callable[[Place], str]]] = {
    "imports": imports,
    "readme": readme,
    "drain": drain,
    "board": board,
    "unit": unit,
}


def tried(name: str, place: Place) -> Tried:
    """Carry out a step."""
    begun = time.monotonic()
    try:
        said, ok = _last(STEPS[name](place)), True
    except StepFailedError as error:
        said, ok = str(error), False
    except Exception as error:  # whatever a step meets: it is the reason of this cell, and no other's
        said, ok = unexpected(error), False
    return Tried(ok, said, round(time.monotonic() - begun))


def unexpected(error: Exception) -> str:
    """Return how what nobody had thought of is kept; where it happened is printed."""
    traceback.print_exception(error)
    return f"unexpected {type(error).__name__}: {error}"


def _last(said: str) -> str:
    """Return the last line that says something, without colours and what differs from run to run."""
    plain = re.sub(r"\x1b\[[\d;]*m", "", said)
    lines: Sequence[str] = [line.strip("= \t") for line in plain.splitlines() if line.strip("= \t")]
    return re.sub(r" in [\d.]+s( \([\d:]+\))?$", "", lines[-1])[:200].replace("\t", " ") if lines else ""


def _end(process: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    process.wait()
