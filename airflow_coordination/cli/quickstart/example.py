"""The files of the example: written into a folder of their own, known again by their content, and removed."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from shutil import rmtree
from typing import Any, Final
from urllib.parse import quote

from airflow_coordination.cli.quickstart.errors import QuickstartError

FOLDER: Final = "coordination_quickstart"
"""The folder's name below the DAG folder, and the DAG's."""
STORE, SPARK = "coordination_quickstart", "coordination_quickstart_spark"
"""The connections that the DAG names."""
ENVIRONMENT: Final = "airflow.env"
RECORD: Final = "written.json"
"""What was written, so that nothing else is ever overwritten or removed."""
MARK: Final = ".coordination_quickstart"
"""Lies in the home of an Airflow that was made for the example alone."""
_EXAMPLES: Final = "airflow_coordination.examples"
_DAGS: Final = {True: "sales.py", False: "sales_without_spark.py"}
_JOB: Final = "sales_job.py"
_MADE: Final = tuple(f"coordination.db{end}" for end in ("", "-wal", "-shm", "-journal", "-queue"))
"""What comes to lie beside the files while the example runs."""
_OUTPUTS: Final = "published"
_OF_AIRFLOW: Final = frozenset({"airflow.cfg", "logs", "standalone.log", "__pycache__", MARK})
_OF_AIRFLOW_BEGIN: Final = ("airflow.db", "airflow-", "simple_auth_manager_passwords", "webserver_config", "jwt_")
"""What an Airflow makes in its home, by names and by beginnings of names."""
_MONTHS: Final = range(1, 7)


def _sales(month: int) -> str:
    rows = [f"2026-{month:02}-{day:02},{(day * month) % 4}" for day in range(1, 29)]
    return "\n".join(["day,amount", *rows]) + "\n"


def _digest(content: bytes) -> str:
    return sha256(content).hexdigest()


@dataclass(frozen=True, slots=True)
class Example:
    """The example in a DAG folder.

    :param dags: the DAG folder, absolute.
    """

    dags: Path

    @property
    def folder(self) -> Path:
        """Where its files are."""
        return self.dags / FOLDER

    @property
    def store(self) -> str:
        """The URL of its store."""
        return f"sqlite:///{quote(str(self.folder / 'coordination.db'))}"

    @property
    def was_written(self) -> bool:
        """Whether it is there."""
        return (self.folder / RECORD).is_file()

    @property
    def homes(self) -> list[Path]:
        """The homes of Airflow that were made for it, one for each directory it ran in, and that are still that.

        :raises QuickstartError: when the record of what was written cannot be read.
        """
        return [home for home in self._homes() if (home / MARK).is_file() and not home.is_symlink()]

    def _homes(self) -> list[Path]:
        record = self._record()
        return [Path(each) for each in record.get("homes", [record["home"]] if record.get("home") else [])]

    def connections(self) -> dict[str, str]:
        """Return the connections that its DAG names, as Airflow reads them from the environment."""
        store = {"conn_type": "coordination", "host": self.store}
        spark = {"conn_type": "spark", "host": "local[2]"}
        return {
            f"AIRFLOW_CONN_{STORE.upper()}": json.dumps(store),
            f"AIRFLOW_CONN_{SPARK.upper()}": json.dumps(spark),
        }

    def write(self, environment: Mapping[str, str], *, with_spark: bool, home: Path | None = None) -> list[Path]:
        """Write it, and return what was written.

        :param environment: what Airflow needs for it beside its connections.
        :param with_spark: whether Spark does the work.
        :param home: the home of an Airflow that is made for it alone, and goes with it.
        :raises QuickstartError: naming what is in the way: it overwrites nothing that it has not written itself.
        """
        contents = self._contents({**self.connections(), **environment}, with_spark=with_spark)
        self._check_free(contents, home)
        made_dags = not self.dags.exists() or self._record().get("made_dags", False)
        self.folder.mkdir(parents=True, exist_ok=True)
        self._forget_others(contents)
        record = {
            "files": {name: _digest(content) for name, content in contents.items()},
            "made_dags": made_dags,
            "homes": [str(each) for each in dict.fromkeys([*self._homes(), *([home] if home else [])])],
        }
        (self.folder / RECORD).write_text(json.dumps(record, indent=2) + "\n")
        for name, content in contents.items():
            (self.folder / name).write_bytes(content)
        if home is not None:
            home.mkdir(exist_ok=True)
            (home / MARK).touch()
        return [self.folder / name for name in contents]

    def clean(self) -> tuple[int, dict[Path, str]]:
        """Remove it; return how many of its files that were, and what was left, and why.

        :raises QuickstartError: when the record of what was written cannot be read.
        """
        record = self._record()
        changed = [path for path, digest in self._recorded(record) if path.exists() and not _is(path, digest)]
        kept = dict.fromkeys(changed, "somebody has changed it")
        mine = [path for path, digest in self._recorded(record) if _is(path, digest)]
        kept |= {home: "it is a link by now" for home in self._homes() if home.is_symlink()}
        outputs = self.folder / _OUTPUTS
        for folder, is_ours in [*((home, _is_airflows) for home in self.homes), (outputs, _is_output)]:
            kept |= dict.fromkeys(_cleared(folder, is_ours), "it is not the example's")
        for path in [*mine, *(self.folder / name for name in _MADE), *self._compiled()]:
            _remove(path)
        (self.folder / RECORD).unlink()
        for folder in [self.folder / "__pycache__", self.folder, *([self.dags] if record.get("made_dags") else [])]:
            if folder.is_dir() and not any(folder.iterdir()):
                folder.rmdir()
        return len(mine), kept

    def _contents(self, environment: Mapping[str, str], *, with_spark: bool) -> dict[str, bytes]:
        names = [_DAGS[with_spark], *([_JOB] if with_spark else [])]
        contents = {name: (files(_EXAMPLES) / name).read_bytes() for name in names}
        contents |= {f"sales-2026-{month:02}.csv": _sales(month).encode() for month in _MONTHS}
        lines = [f"# For the example beside this file: set -a; . {shlex.quote(str(self.folder / ENVIRONMENT))}; set +a"]
        lines += [f"{name}={shlex.quote(value)}" for name, value in environment.items()]
        return {**contents, ENVIRONMENT: ("\n".join(lines) + "\n").encode()}

    def _check_free(self, contents: Mapping[str, bytes], home: Path | None) -> None:
        record = self._record()
        mine = dict(self._recorded(record))
        taken = [
            path
            for path in (self.folder / name for name in contents)
            if path.exists() and not (path in mine and _is(path, mine[path]))
        ]
        if home is not None and home.exists() and home not in self._homes():
            taken.append(home)
        if not record:
            taken += [path for path in (self.folder / name for name in (*_MADE, _OUTPUTS)) if path.exists()]
        if taken:
            problem = f"{taken[0]} is there, and quickstart has not written it, or somebody has changed it since"
            raise QuickstartError(problem, "Move it away, or use another folder: --dags-folder")

    def _forget_others(self, contents: Mapping[str, bytes]) -> None:
        """Remove what was written for the other way of working; a folder with both would have the DAG twice."""
        for path, digest in self._recorded(self._record()):
            if path.name not in contents and _is(path, digest):
                path.unlink()

    def _record(self) -> dict[str, Any]:
        """Return what was written, nothing when it was not.

        :raises QuickstartError: when the file is not what this command has written.
        """
        path = self.folder / RECORD
        if not path.exists():
            return {}
        try:
            found = json.loads(path.read_bytes())
            if isinstance(found["files"], dict):
                return dict(found)
        except (ValueError, TypeError, KeyError):
            pass
        raise QuickstartError(f"{path} is no record of what quickstart has written", "Move it away")

    def _recorded(self, record: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
        """Yield path and digest of the files that were written: names of this folder only, whatever the record says."""
        for name, digest in record.get("files", {}).items():
            yield self.folder / Path(name).name, digest

    def _compiled(self) -> Iterator[Path]:
        for name in (*_DAGS.values(), _JOB):
            yield from (self.folder / "__pycache__").glob(f"{Path(name).stem}.*.pyc")


def _is(path: Path, digest: str) -> bool:
    return path.is_file() and _digest(path.read_bytes()) == digest


def _is_airflows(name: str) -> bool:
    return name in _OF_AIRFLOW or name.startswith(_OF_AIRFLOW_BEGIN)


def _is_output(name: str) -> bool:
    """Say whether a name at the top of the outputs is ours: Spark's attempts and the like, or plain Python's files."""
    return name.startswith(("_", "sales-"))


def _cleared(folder: Path, is_ours: Callable[[str], bool]) -> list[Path]:
    """Remove what is ours in a folder, and the folder itself if that is all; return what else is in it."""
    if folder.is_symlink() or not folder.is_dir():
        return [folder] if folder.is_symlink() else []
    kept = []
    for path in sorted(folder.iterdir()):
        if is_ours(path.name):
            _remove(path)
        else:
            kept.append(path)
    if not kept:
        folder.rmdir()
    return kept


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
