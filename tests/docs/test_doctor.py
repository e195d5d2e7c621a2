"""The page on ``doctor`` has a line for each thing it looks at, and no other."""

from __future__ import annotations

import ast
import re

from airflow_coordination.systems.spark.session import CLASSIC
from tests.docs.pages import ROOT

PACKAGE = ROOT / "airflow_coordination"
_NAMING = {"Finding", "looked", "_active"}
"""What is called with a check's name."""
_ACTIONS = "dynamodb:…"
"""Stands for the names that ``permissions.py`` makes of the actions it tries."""


def checks():
    """Return the names of the checks in the code."""
    found = {_ACTIONS}
    for path in [*PACKAGE.glob("cli/doctor*.py"), *PACKAGE.glob("stores/**/*.py")]:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _NAMING and node.args:
                found |= {_name(node.args[0])} - {None}
    return found


def _name(argument):
    if isinstance(argument, ast.Constant):
        return argument.value
    return CLASSIC if isinstance(argument, ast.Name) and argument.id == "CLASSIC" else None


def test_every_check_has_its_line():
    page = (ROOT / "docs/operate/doctor.md").read_text()
    assert set(re.findall(r"^\| `(.+?)` \|", page, re.MULTILINE)) == checks()
