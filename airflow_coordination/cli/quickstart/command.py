"""The command: writes the example, runs it, removes it."""

from __future__ import annotations

import fcntl
import os
import shlex
from argparse import Namespace
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from airflow_coordination.cli.context import CommandContext
from airflow_coordination.cli.java import fitting_home
from airflow_coordination.cli.output import say
from airflow_coordination.cli.quickstart.airflow_process import OwnAirflow, end_all
from airflow_coordination.cli.quickstart.errors import QuickstartError
from airflow_coordination.cli.quickstart.example import ENVIRONMENT, FOLDER, STORE, Example
from airflow_coordination.cli.quickstart.run import run
from airflow_coordination.stores.opening import open_store
from airflow_coordination.systems.spark.session import CLASSIC, installed
from airflow_coordination.values.input_errors import SettingsError
from airflow_coordination.values.program import TYPED

_BOARD: Final = "AIRFLOW__COORDINATION__BOARD_CONNECTIONS"
_HOME: Final = "airflow"
_ODD: Final = frozenset("?%")
_INTERRUPTED: Final = 130


def quickstart(context: CommandContext, args: Namespace) -> int:
    """Write the example and say what to do with it; or run it; or remove it.

    :raises SettingsError: when the options cannot be had together, or Airflow is needed and not there.
    :raises QuickstartError: when something is in the way, the example runs already, or does not run.
    """
    if args.run and args.clean:
        raise SettingsError("--clean", True, "is named beside --run", "Run it first, and clean up afterwards")
    if args.clean:
        _clean(context, args.dags_folder)
        return 0
    if args.run and installed("apache-airflow-core") is None:
        remedy = "pip install 'airflow-coordination[airflow,spark]'"
        raise SettingsError("--run", True, "needs Airflow, which is not installed here", remedy)
    return _run(args) if args.run else _write(context, args)


def _write(context: CommandContext, args: Namespace) -> int:
    example = Example(_folder(args.dags_folder) or context.airflow().dags_folder)
    board = {_BOARD: f"{context.airflow().board_connections},{STORE}"}
    with _alone(example):
        _write_files(example, board, spark=not args.no_spark)
    say(
        "Start Airflow with what the example needs; where it runs already, set this for all its parts and restart them:"
    )
    say(f"  set -a; . {shlex.quote(str(example.folder / ENVIRONMENT))}; set +a; airflow standalone")
    say(f"Then switch on the DAG {FOLDER} (a new file is seen after some minutes), and look at Browse → Partitions.")
    return 0


def _run(args: Namespace) -> int:
    here = Path.cwd()
    if odd := set(str(here)) & _ODD:
        problem = f"cannot run in {here}: Airflow's SQLite does not bear {' '.join(sorted(odd))} in a path"
        raise QuickstartError(f"quickstart {problem}", "Use another directory")
    example = Example(_folder(args.dags_folder) or here / "dags")
    with _alone(example):
        spark = _write_files(example, {_BOARD: STORE}, spark=not args.no_spark, home=here / _HOME)
    airflow = OwnAirflow(here / _HOME, example.dags, {**example.connections(), _BOARD: STORE, **spark})
    with _alone(example):  # once more: before it was written there was nothing to lock
        try:
            run(airflow, example.store)
        except QuickstartError as error:
            for line in error.log.splitlines():
                say(line)
            raise
        except KeyboardInterrupt:
            return _INTERRUPTED
    say(f"Nothing is left running. Remove what was written: {TYPED} quickstart --clean")
    return 0


def _write_files(
    example: Example, environment: Mapping[str, str], *, spark: bool, home: Path | None = None
) -> dict[str, str]:
    """Write the example and make its store; return what tells Spark where Java is."""
    java = _java() if spark else None
    found = {"JAVA_HOME": str(java)} if java else {}
    for path in example.write({**environment, **found}, with_spark=java is not None, home=home):
        say(f"Wrote {path}")
    store = open_store(example.store)
    store.setup()
    store.close()
    return found


def _java() -> Path | None:
    """Return the Java for Spark; say why there is no Spark in the example if it cannot be."""
    if installed(CLASSIC) is None:
        say("pyspark is not installed here, so plain Python does the work: pip install pyspark for the real example.")
        return None
    java = fitting_home()
    if java is None:
        say("There is no Java 17 or 21 in JAVA_HOME, on PATH or in /usr/lib/jvm: plain Python works instead of Spark.")
    return java


def _clean(context: CommandContext, dags_folder: str | None) -> None:
    named = _folder(dags_folder)
    places = [named] if named else [Path.cwd() / "dags", context.airflow().dags_folder]
    found = [example for example in map(Example, dict.fromkeys(places)) if example.was_written]
    if not found:
        say(f"There is no example of quickstart in {' or '.join(str(place) for place in dict.fromkeys(places))}.")
    for example in found:
        with _alone(example):
            for home in example.homes if installed("psutil") is not None else []:
                end_all(home)
            number, kept = example.clean()
        say(f"Removed {number} files and what they have made from {example.folder}.")
        for path, why in kept.items():
            say(f"Left {path}: {why}.")


def _folder(named: str | None) -> Path | None:
    return Path(named).expanduser().resolve() if named else None


@contextmanager
def _alone(example: Example) -> Iterator[None]:
    """Keep others from an example while it runs or is changed.

    :raises QuickstartError: when somebody else runs it.
    """
    if not example.folder.is_dir():
        yield
        return
    folder = os.open(example.folder, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise QuickstartError(f"The example in {example.folder} is running", "End it with Ctrl-C first") from None
    finally:
        os.close(folder)
