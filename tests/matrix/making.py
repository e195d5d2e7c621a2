"""Makes the environment of a cell from nothing: the interpreter, what is resolved for it, the package in place."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tests.matrix.cells import Cell

ROOT: Final = Path(__file__).resolve().parents[2]
PLACE: Final = Path(os.environ.get("COORDINATION_CELLS") or ROOT / ".work" / "cells")
"""Where interpreters and environments are: 1 to 2 GB each."""
_TODAY: Final = "2099-01-01T00:00:00Z"
_PROVIDERS: Final = ("amazon", "apache-spark", "common-compat", "standard")
_CLIENTS: Final = (
    "aiobotocore",
    "boto3",
    "botocore",
    "fsspec",
    "isodate",
    "javaproperties",
    "moto",
    "s3fs",
    "s3transfer",
)
_OURS: Final = (*(f"apache-airflow-providers-{name}" for name in _PROVIDERS), *_CLIENTS, "pyspark", "pyspark-client")
"""What we ask for ourselves may be newer than an old Airflow, as may what our tests drive: it is installed today."""
_MAVEN: Final = {"3.12": "3.12.1-1.5.10", "3.13": "3.13.5-1.5.12", "3.14": "3.14.3-1.5.13"}
"""Whole CPythons, in a repository that builds with Java ask anyway."""
_PLACE: Final = re.compile(r"\w+://\S+")
_INSIDE: Final = "org/bytedeco/cpython/linux-x86_64"


class CannotBeHadError(Exception):
    """This machine cannot have the cell; the text says why."""


def made(cell: Cell) -> Path:
    """Make a cell's environment, and return its interpreter.

    :raises CannotBeHadError: with what pip, Maven or uv say.
    """
    home = PLACE / cell.name
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    _uv("venv", "--python", interpreter(cell.python), str(home / "env"))
    python = home / "env" / "bin" / "python"
    (home / "requirements.txt").write_text(resolved(cell, python, home))
    _uv("pip", "install", "--python", str(python), "-r", str(home / "requirements.txt"))
    _uv("pip", "install", "--python", str(python), "--no-deps", "--no-build-isolation", "--editable", str(ROOT))
    if cell.client not in (None, cell.spark):
        _uv("pip", "install", "--python", str(python), "--reinstall-package", "pyspark", f"pyspark=={cell.spark}")
    return python


def resolved(cell: Cell, python: Path, home: Path) -> str:
    """Return what a cell installs: our extras and the tests' tools, by the cell's Airflow and Spark."""
    beside = cell.client or cell.spark
    over = [f"pyspark=={beside}", *([f"pyspark-client=={beside}"] if cell.client else [])]
    builds = "\n".join(tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"])
    extras, tools = ["spark"], builds
    options: list[str] = []
    if cell.airflow is not None:
        over.append(f"apache-airflow=={cell.airflow.version}")
        extras, tools = ["airflow", "spark", "postgres", "amazon"], (ROOT / "requirements" / "cells.in").read_text()
        if cell.airflow.until:
            options += ["--exclude-newer", cell.airflow.until]
            options += [word for name in _OURS for word in ("--exclude-newer-package", f"{name}={_TODAY}")]
    if cell.lowest:
        over, tools = [], builds  # as old as it may be, too
        extras.append("testing")  # the kit's modules are imported, and no tests bring pytest here
        options += ["--resolution", "lowest-direct"]
    (home / "over.txt").write_text("\n".join(over) + "\n")
    (home / "tools.in").write_text(tools)
    chosen = [word for extra in extras for word in ("--extra", extra)]
    return _uv(
        "pip", "compile", "--python", str(python), "--override", str(home / "over.txt"), *options, *chosen,
        "--no-header", "--no-annotate", str(ROOT / "pyproject.toml"), str(home / "tools.in"),
    )  # fmt: skip


def interpreter(version: str) -> str:
    """Return a Python of this minor version: of the path, of pyenv, or out of Maven's repository.

    :raises CannotBeHadError: when none of them has one.
    """
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    there = [str(each) for each in sorted(pyenv.glob(f"{version}.*/bin/python{version}"), reverse=True)]
    for program in (f"/usr/bin/python{version}", *there, shutil.which(f"python{version}") or ""):
        if program and _answers(program):
            return program
    return _from_maven(version)


def _from_maven(version: str) -> str:
    home = PLACE / "python" / version
    program = home / _INSIDE / "bin" / f"python{version}"
    if not program.exists():
        if version not in _MAVEN or shutil.which("mvn") is None:
            raise CannotBeHadError(f"no Python {version}: neither on the path nor of pyenv, and no Maven to fetch one")
        jar = f"org.bytedeco:cpython:{_MAVEN[version]}:jar:linux-x86_64"
        home.mkdir(parents=True, exist_ok=True)
        _ran(["mvn", "-q", "dependency:copy", f"-Dartifact={jar}", f"-DoutputDirectory={home}"])
        for packed in home.glob("*.jar"):
            _ran([sys.executable, "-m", "zipfile", "-e", str(packed), str(home)])
            packed.unlink()
        for each in program.parent.iterdir():
            each.chmod(0o755)
    return str(program)


def _answers(program: str) -> bool:
    """Return whether a program is a Python with what Airflow needs; pyenv's stand-ins are there and do not answer."""
    try:
        ran = subprocess.run([program, "-c", "import ssl, sqlite3"], capture_output=True, check=False)
    except OSError:
        return False
    return ran.returncode == 0


def _uv(*words: str) -> str:
    environment = {**os.environ, "UV_PYTHON_DOWNLOADS": "never"}
    return _ran([str(Path(sys.executable).with_name("uv")), *words, "--quiet"], environment)


def _ran(command: Sequence[str], environment: dict[str, str] | None = None) -> str:
    ran = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment, check=False)
    if ran.returncode:
        said = [line for line in (ran.stderr or ran.stdout).splitlines() if line.strip()]
        raise CannotBeHadError(_PLACE.sub("a registry", " ".join(" ".join(said[-4:]).split()))[-300:])
    return ran.stdout
