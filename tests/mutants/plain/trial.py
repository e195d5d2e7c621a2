"""Runs mutmut over a copy of the tree, and says what nothing has caught."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.mutants.due import ROOT
from tests.mutants.plain.known import known
from tests.mutants.plain.sources import MODULES, Mutant, mutants_of

_CAUGHT: Final = {"killed": "tests", "timeout": "time", "segfault": "tests", "caught by type check": "mypy"}
"""What mutmut says of a mutant that was noticed, and what has noticed it."""
_UNTRIED: Final = {"not checked", "check was interrupted by user"}


@dataclass(frozen=True, slots=True)
class Tried:
    """What came of the mutants of one module.

    :param module: its name.
    :param mutants: how many there are.
    :param caught: how many were noticed, by what has noticed them.
    :param survivors: those that nothing has noticed.
    """

    module: str
    mutants: int
    caught: Mapping[str, int]
    survivors: tuple[Mutant, ...]

    @property
    def new(self) -> tuple[Mutant, ...]:
        """The survivors that are not listed."""
        return tuple(mutant for mutant in self.survivors if mutant not in known())

    @property
    def idle(self) -> tuple[Mutant, ...]:
        """Those that are listed and did not survive."""
        of_it = (mutant for mutant in known() if mutant.where.startswith(f"{self.module}."))
        return tuple(mutant for mutant in of_it if mutant not in self.survivors)


def tried(modules: Iterable[str], jobs: int) -> Iterator[Tried]:
    """Try the mutants of these modules, one module after the other.

    :param jobs: how many mutants at a time.
    :raises RuntimeError: when mutmut could not do it; it says what it has printed.
    """
    with tempfile.TemporaryDirectory(prefix="plain-mutants-") as scratch:
        copy = Path(scratch)
        _copy_to(copy)
        for module in modules:
            names = f"{'.'.join(MODULES[module].with_suffix('').parts)}.*"
            _mutmut(copy, "run", "--max-children", str(jobs), names)
            yield _found(module, copy)


def _copy_to(place: Path) -> None:
    """Copy what git knows, as it stands here: mutmut writes beside what it breaks."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).exists():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, place / name)


def _mutmut(copy: Path, *asked: str) -> None:
    programs = Path(sys.executable).parent  # so that its command for mypy finds this python
    environment = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    said = subprocess.run(
        [str(programs / "mutmut"), *asked], cwd=copy, env=environment, capture_output=True, text=True, check=False
    )
    if said.returncode:
        raise RuntimeError(f"mutmut {' '.join(asked)} ended with {said.returncode}: {said.stdout[-4000:]}{said.stderr}")


def _found(module: str, copy: Path) -> Tried:
    from mutmut.stats import status_by_exit_code

    codes = json.loads((copy / "mutants" / f"{MODULES[module]}.meta").read_text())["exit_code_by_key"]
    said = {name: status_by_exit_code[code] for name, code in codes.items()}
    if untried := [name for name, status in said.items() if status in _UNTRIED]:
        raise RuntimeError(f"mutmut has not tried all of {module}: {untried}")
    mutants = mutants_of(module, copy)
    caught = Counter(_CAUGHT[status] for status in said.values() if status in _CAUGHT)
    survivors = {mutants[name] for name, status in said.items() if status not in _CAUGHT}
    return Tried(module, len(said), caught, tuple(sorted(survivors)))
