"""Build the pages that would change with almost every commit, and that nobody needs to have in the history.

usage: python scripts/docs_build.py [DIRECTORY]

By default they go into ``.work/docs``; their links lead into the tree from there.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from scripts.docs_generate import table
from scripts.docs_promises import PARTLY, PROMISES, ROOT, proofs
from scripts.docs_python import reference

BUILT: Final = ROOT / ".work" / "docs"
REFERENCE: Final = (
    "leases",
    "spark",
    "sinks",
    "acknowledgments",
    "stores",
    "sources",
    "outputs",
    "compaction",
    "branches",
    "streams",
)

_PYTHON: Final = """# Python

The public names of each room, from the code. Those that one needs first are also names of `airflow_coordination`
itself: `from airflow_coordination import SourceCoordinator, open_store`. Operators, sensor and triggers have
[a page of their own](../../docs/reference/operators.md), and so have [errors](../../docs/reference/errors.md).
"""
_PROMISES: Final = """# Promises and their tests

What always holds, whatever is killed, stopped, cut off or repeated: the S promises. What holds once faults stop: the L
promises. What holds against people and secrets: the X promises. [The protocol](../../docs/explanation/protocol.md)
explains them.

A test whose name begins with a promise's number proves a part of it: `test_s6_…` proves S6. The tests of the
conformance kit run on every store. One test by itself: `.venv/bin/python -m pytest FILE -k NAME`.

"""


def python() -> str:
    """Return the page with every public name of every room."""
    return _PYTHON + "".join(f"\n## `airflow_coordination.{room}`\n\n{reference(room)()}" for room in REFERENCE)


def promises() -> str:
    """Return the page with each promise, the number of tests that are named after it, and those tests by file."""
    found = proofs()
    rows = [
        (f"[{promise}](#{promise.lower()})", f"{text} {PARTLY.get(promise, '')}".strip(), _number_of(found, promise))
        for promise, text in PROMISES.items()
    ]
    tests = "\n".join(_tests_of(promise, found[promise]) for promise in PROMISES if promise in found)
    return f"{_PROMISES}{table('', 'promise', 'tests', rows=rows)}\n## The tests\n\n{tests}"


def _number_of(found: dict[str, dict[Path, list[str]]], promise: str) -> str:
    return str(sum(map(len, found.get(promise, {}).values())))


def _tests_of(promise: str, files: dict[Path, list[str]]) -> str:
    lines = [f"### {promise}\n\n"]
    for file, tests in files.items():
        name = file.relative_to(ROOT)
        lines += [f"* [{name}](../../{name})\n", *(f"  * `{test}`\n" for test in tests)]
    return "".join(lines)


PAGES: Final[dict[str, Callable[[], str]]] = {"python.md": python, "promises.md": promises}


def built(directory: Path) -> Iterator[Path]:
    """Write the pages into a directory, which is made, and yield their paths."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, text in PAGES.items():
        (directory / name).write_text(text())
        yield directory / name


if __name__ == "__main__":
    for page in built(Path(*sys.argv[1:2]) if sys.argv[1:] else BUILT):
        print(f"built: {page}")
