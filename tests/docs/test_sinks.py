"""The table of sinks says what the classes promise, and names tests that are there."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from airflow_coordination import sinks, spark
from airflow_coordination.sinks import Guarantee
from tests.docs.pages import ROOT

PAGE = ROOT / "docs/reference/sinks.md"
ROW = re.compile(r"^\| `(\w+)` \| (.+) \| (.+) \| (.+) \|$", re.MULTILINE)
CELL = re.compile(r"(yes|no): \[`(\w+)`\]\(([^)]+)\)")
ROWS = {name: [CELL.fullmatch(cell) for cell in cells] for name, *cells in ROW.findall(PAGE.read_text())}
PUBLISHED = {"Publish": Guarantee.FENCED, "DeadLetters": Guarantee.FENCED}
"""No sinks of executors: the lease's ending publishes them."""
ORDER = list(Guarantee)


def promised(name: str) -> Guarantee:
    """Return what a class says of itself."""
    return PUBLISHED[name] if name in PUBLISHED else getattr(sinks, name).__dataclass_fields__["guarantee"].default


@cache
def names_in(path: Path) -> set[str]:
    """Return the names of a file's tests and classes of tests."""
    return {node.name for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef | ast.ClassDef)}


def test_every_sink_has_a_row() -> None:
    ours = {name for name in spark.__all__ if name.endswith("Sink") or name.endswith("DeadLetters")}
    assert set(ROWS) == ours | {"Publish"}


@pytest.mark.parametrize("name", ROWS)
def test_a_row_says_what_the_class_promises(name: str) -> None:
    said = [cell[1] if cell else None for cell in ROWS[name]]
    assert said == ["yes" if ORDER.index(promised(name)) >= place else "no" for place in range(len(ORDER))]


@pytest.mark.parametrize("name", ROWS)
def test_each_word_is_shown_by_a_test_that_is_there(name: str) -> None:
    for cell in ROWS[name]:
        assert cell, "a cell is 'yes' or 'no', and a test"
        assert cell[2] in names_in((PAGE.parent / cell[3]).resolve()), cell[2]
