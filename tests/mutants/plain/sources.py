"""The modules that mutmut breaks, and what each of its mutants is in words that outlive a change elsewhere."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path
from typing import Any, Final

from tests.mutants.due import ROOT

SETTINGS: Final[dict[str, Any]] = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mutmut"]
MODULES: Final[dict[str, Path]] = {Path(place).stem: Path(place) for place in SETTINGS["only_mutate"]}
"""By the name that ``make mutants ONLY=plain.NAME`` is given."""
_SEPARATOR: Final = "ǁ"


@dataclass(frozen=True, slots=True, order=True)
class Mutant:
    """One broken expression. Its text names it: the numbers of mutmut's change with every line above.

    :param where: its module and function, such as ``supply.View.look``.
    :param was: the lines as they are.
    :param becomes: the lines as it has them.
    """

    where: str
    was: str
    becomes: str


def mutants_of(module: str, root: Path = ROOT) -> dict[str, Mutant]:
    """Return all mutants of a module, by the names that mutmut gives them.

    Two of a function may be the same text, where a line stands in it twice.
    """
    from mutmut.mutation.file_mutation import mutate_file_contents

    place = MODULES[module]
    made = mutate_file_contents(str(place), (root / place).read_text())
    lines = made.code.splitlines()

    def text(name: str, as_name: str) -> list[str]:
        span = made.line_span_by_function_name[name]
        return [line.strip().replace(name, as_name) for line in lines[span.start - 1 : span.end] if line.strip()]

    found = {}
    for name in made.mutant_names:
        kind = name.rpartition("__mutmut_")[0]
        before = text(f"{kind}__mutmut_orig", kind)
        was, becomes = (" ".join(side) for side in _differing(before, text(name, kind)))
        where = f"{module}.{_said(kind)}"
        found[f"{'.'.join(place.with_suffix('').parts)}.{name}"] = Mutant(where, was, becomes)
    return found


def _said(kind: str) -> str:
    """Return a function's name as the code has it: mutmut says ``xǁViewǁlook`` and ``x_judge``."""
    return (
        kind.removeprefix(f"x{_SEPARATOR}").replace(_SEPARATOR, ".") if _SEPARATOR in kind else kind.removeprefix("x_")
    )


def _differing(before: list[str], after: list[str]) -> Iterator[list[str]]:
    """Yield the lines that only one of the texts has, for each of them."""
    told = list(unified_diff(before, after, lineterm="", n=0))[2:]  # its first two lines name the files
    for sign in "-+":
        yield [line[1:] for line in told if line.startswith(sign)]
