"""What the tests of the house look at: the tracked files and what the rooms import."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Collection, Iterable, Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "airflow_coordination"


# What tests and tools make; a clone has it in .gitignore.
_CACHES = {f".{name}" for name in ("hypothesis", "import_linter_cache", "mypy_cache", "pytest_cache", "ruff_cache")}
_MADE = {"__pycache__", ".venv", ".work", *_CACHES}


def tracked_files() -> list[Path]:
    """Return the files a clone has, whoever owns it; in a source package, which has no git, all that is there."""
    if not (ROOT / ".git").exists():
        return [path for path in ROOT.rglob("*") if path.is_file() and not _MADE.intersection(path.parts)]
    command = ["git", "-c", "safe.directory=*", "ls-files", "-z"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout
    return [path for name in listed.decode().split("\0") if name and (path := ROOT / name).is_file()]


def room_of(module: Path) -> str:
    """Return the room of a module's file; the top of the package is the room ``""``."""
    first = module.relative_to(PACKAGE).parts[0]
    return "" if first.endswith(".py") else first


@cache
def _imports(text: str) -> tuple[ast.Import | ast.ImportFrom, ...]:
    """Return the imports of a text. Each test of the walls asks for those of hundreds of files: they are read once."""
    return tuple(node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Import | ast.ImportFrom))


def imported(module: Path) -> Iterator[tuple[int, str]]:
    """Yield line and full name of every import in a file, also those inside functions."""
    for node in _imports(module.read_text()):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        else:
            yield node.lineno, _absolute(module, node)


def _absolute(module: Path, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    package = module.parent.relative_to(ROOT).parts
    return ".".join([*package[: len(package) - node.level + 1], *filter(None, [node.module])])


def is_standard(name: str) -> bool:
    """Tell whether a module is of the standard library."""
    return name.partition(".")[0] in sys.stdlib_module_names


def module_name(module: Path, within: Path = ROOT) -> str:
    """Return the dotted name of a module's file; a package's is that of its ``__init__``."""
    parts = module.relative_to(within).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def import_graph(modules: Iterable[Path], within: Path = ROOT) -> dict[str, set[str]]:
    """Return which of the modules each one imports, for type checkers only and inside functions, too.

    :param within: the folder that Python looks for them in.
    """
    paths = {module_name(module, within): module for module in modules}
    return {name: set(_imported_of(path, paths.keys())) - {name} for name, path in paths.items()}


def _imported_of(module: Path, ours: Collection[str]) -> Iterator[str]:
    for node in _imports(module.read_text()):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            package = _absolute(module, node)
            inside = {alias.name: f"{package}.{alias.name}" for alias in node.names}
            names = [whole if whole in ours else package for whole in inside.values()]
        yield from (name for name in names if name in ours)
