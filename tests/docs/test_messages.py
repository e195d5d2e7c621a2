"""What the page on messages quotes is what our code says."""

from __future__ import annotations

import ast
import re

import pytest

from tests.docs.pages import ROOT

PAGE = ROOT / "docs/how-to/by-message.md"
QUOTED = re.findall(r"^\| `([^`]+)` \|", PAGE.read_text(), re.MULTILINE)


@pytest.fixture(scope="module")
def said() -> list[str]:
    """Every text in the package, with ``{}`` where something is filled in."""
    trees = [ast.parse(path.read_text()) for path in (ROOT / "airflow_coordination").rglob("*.py")]
    return [text for tree in trees for node in ast.walk(tree) if (text := _text(node))]


def _text(node: ast.AST) -> str:
    if isinstance(node, ast.JoinedStr):
        return "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def test_there_are_some() -> None:
    assert len(QUOTED) > 12


@pytest.mark.parametrize("quoted", QUOTED)
def test_a_quoted_message_is_one_of_ours(said: list[str], quoted: str) -> None:
    assert any(quoted in text for text in said)
