"""What the package takes from Airflow and its providers, name by name: python airflow_names.py [NEEDS_3_3 ...].

Importing every module does not show what a function imports once it is called. This looks for all of it, in the
environment of a cell. What was found there is kept (``airflow_names.tsv``), so that CI, which has one Airflow, sees at
once when the package begins to take what no other cell was asked for.
"""

from __future__ import annotations

import ast
import importlib
import re
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "airflow_coordination"
FILE = Path(__file__).with_suffix(".tsv")
FOUND = "found "
"""Begins each line that names what is there."""


def taken(package: Path = PACKAGE, beyond: Iterable[str] = ()) -> dict[str, str]:
    """Return each name, as ``module:name``, with the first module of ours that takes it.

    :param beyond: modules of ours that are not asked.
    """
    found: dict[str, str] = {}
    for file in sorted(package.rglob("*.py")):
        ours = ".".join(file.relative_to(package.parent).with_suffix("").parts).removesuffix(".__init__")
        if ours not in beyond:
            for name in _names(file.read_text()):
                found.setdefault(name, ours)
    return found


@cache
def _names(text: str) -> tuple[str, ...]:
    """Return what a module takes; kept, for CI asks for each version of Airflow."""
    found: list[str] = []
    for node in _run(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.level == 0 and _airflow(node.module or ""):
            found += (f"{node.module}:{alias.name}" for alias in node.names)
        if isinstance(node, ast.Import):
            found += (f"{alias.name}:" for alias in node.names if _airflow(alias.name))
    return tuple(found)


def _run(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield what must be there: nothing below TYPE_CHECKING, and nothing that is done without where it is not there."""
    for node in ast.iter_child_nodes(tree):
        if not _done_without(node):
            yield node
            yield from _run(node)


def _done_without(node: ast.AST) -> bool:
    if isinstance(node, ast.If):
        return ast.unparse(node.test) == "TYPE_CHECKING"
    if isinstance(node, ast.With):
        return any(re.match(r"suppress\(.*ImportError", ast.unparse(item)) for item in node.items)
    return isinstance(node, ast.Try) and any("ImportError" in ast.unparse(each.type or node) for each in node.handlers)


def _airflow(module: str) -> bool:
    return module.split(".")[0] == "airflow"


def known(file: Path = FILE) -> dict[str, set[str]]:
    """Return what was found in each version of Airflow."""
    found: dict[str, set[str]] = {}
    for line in file.read_text().splitlines() if file.exists() else []:
        version, name = line.split("\t")
        found.setdefault(version, set()).add(name)
    return found


def keep(version: str, said: str, file: Path = FILE) -> int:
    """Keep what ``main`` said of a version, in place of what it said before; return how many names that are."""
    names = {line.removeprefix(FOUND) for line in said.splitlines() if line.startswith(FOUND)}
    rows = sorted((each, name) for each, found in {**known(file), version: names}.items() for name in found)
    file.write_text("".join(f"{each}\t{name}\n" for each, name in rows))
    return len(names)


def _is_there(name: str) -> bool:
    module, _, attribute = name.partition(":")
    try:
        found = importlib.import_module(module)
        if attribute and not hasattr(found, attribute):
            importlib.import_module(f"{module}.{attribute}")
    except ImportError:
        return False
    return True


def main(beyond: list[str]) -> None:
    """Print what is there, and end with what is not."""
    missing = []
    for name, ours in taken(beyond=beyond).items():
        if _is_there(name):
            print(f"{FOUND}{name}")
        else:
            missing.append(f"{name}, which {ours} takes")
    if missing:
        sys.exit(f"not there: {'; '.join(missing)}")


if __name__ == "__main__":
    main(sys.argv[1:])
