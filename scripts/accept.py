"""Write everything that is pinned, or check it, and show what differs.

usage: python scripts/accept.py [--check] [NAME ...]

A pinned thing is a committed file that is made from the code. It differs where the code says something else now: that
is looked at, and committed together with what caused it. ``--check`` writes nothing, and leaves to the suite what needs
engines; it shows all differences, too.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

REMEDY = "Look at each difference. If it is meant: make accept"
Texts = dict[Path, str]


@dataclass(frozen=True, slots=True)
class Pinned:
    """One row of the table.

    :param name: what people call it.
    :param made: returns the fresh text of each of its files.
    :param test: compares it where that needs engines; empty where ``--check`` does.
    """

    name: str
    made: Callable[[], Texts]
    test: str = ""


def sent() -> Texts:
    """Return what each operation is counted to send."""
    from tests.sent import table
    from tests.sent.counting import counted

    return {table.FILE: table.text(counted())}


def api() -> Texts:
    """Return the document of the board's API."""
    with _nobodys_airflow():
        from airflow_coordination.board.app import create_app

        document = create_app().openapi()
    return {ROOT / "docs" / "reference" / "board-api.json": json.dumps(document, indent=2) + "\n"}


def pages() -> Texts:
    """Return the pages of which some part is made from the code."""
    from scripts.docs_generate import stale

    return dict(stale())


PINNED = (
    Pinned("what is sent", sent, test="tests/sent/test_counts.py"),
    Pinned("the board's API", api),
    Pinned("pages made from the code", pages),
)
"""In the order in which one is made from another: a page shows what is sent."""


@contextmanager
def _nobodys_airflow() -> Iterator[None]:
    """Let whoever imports Airflow find no settings, leave none, and be silent about what others should import."""
    home = tempfile.mkdtemp(prefix="airflow-home-")
    os.environ |= {"AIRFLOW_HOME": home, "AIRFLOW__CORE__LOAD_EXAMPLES": "False"}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        shutil.rmtree(home, ignore_errors=True)


def differences(made: Texts) -> Iterator[tuple[Path, str]]:
    """Yield each file that is not as it was made, with the difference."""
    for path, fresh in made.items():
        kept = path.read_text() if path.exists() else ""
        if kept != fresh:
            name = str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)
            lines = kept.splitlines(keepends=True), fresh.splitlines(keepends=True)
            yield path, "".join(unified_diff(*lines, f"{name} (committed)", f"{name} (from the code)", n=1))


def accept(pinned: Iterable[Pinned], *, check: bool) -> int:
    """Write what differs, or only show it; return the exit code: one if anything is left to do.

    :param pinned: rows of the table.
    :param check: write nothing.
    """
    found, failed = 0, 0
    for each in pinned:
        try:
            made = each.made()
        except Exception:  # whatever it is: the others are shown, too
            failed += 1
            print(f"{each.name}: could not be made\n{traceback.format_exc()}")
            continue
        for path, difference in differences(made):
            found += 1
            print(f"{each.name}: {'differs' if check else 'written'}\n{difference}")
            if not check:
                path.write_text(made[path])
    if check and found:
        print(f"Files that differ: {found}. {REMEDY}")
    return int(bool(failed or (check and found)))


def main(given: list[str]) -> int:
    """Do what the command line says."""
    check, names = "--check" in given, [each for each in given if each != "--check"]
    known = [each.name for each in PINNED]
    if unknown := [name for name in names if name not in known]:
        print(f"{unknown[0]!r} is not pinned. Name one of: {', '.join(known)}")
        return 2
    chosen = [each for each in PINNED if (each.name in names if names else not (check and each.test))]
    return accept(chosen, check=check)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
