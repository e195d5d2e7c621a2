"""How classes hang together: what a store is asked for."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import fields

import pytest

from airflow_coordination.protocol import port
from tests.house.tree import PACKAGE, ROOT

PARTS = (port.FusedSteps, port.Pauses, port.History, port.FollowUps, port.Sums)
QUESTIONS = {"hasattr": 2, "getattr": 3}
"""What asks whether something is there, and with how many arguments."""
ALLOWED = {
    ("airflow_coordination/protocol/port.py", "parts"),
    ("airflow_coordination/stores/opening.py", "acquire_next"),
    ("airflow_coordination/protocol/remedies.py", ""),
}
"""What parts a store has; whether something is a store at all; by which connection we have opened it."""


def names_of(protocol: type) -> set[str]:
    """Return what a store, or a part of one, has to have."""
    return {name for name in {*vars(protocol), *protocol.__annotations__} if not name.startswith("_")}


OF_PARTS = {"parts", *(each.name for each in fields(port.StoreParts)), *(n for each in PARTS for n in names_of(each))}


def asked(text: str) -> Iterator[str]:
    """Yield what a store is asked for, or anything under the name of a part; empty where the name is no text."""
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Call) or QUESTIONS.get(getattr(node.func, "id", "")) != len(node.args):
            continue
        whom, what = node.args[:2]
        name = what.value if isinstance(what, ast.Constant) else ""
        if ast.unparse(whom).rpartition(".")[2].strip("_") == "store" or name in OF_PARTS:
            yield str(name)


@pytest.mark.parametrize("place", ["airflow_coordination", "tests"])
def test_a_store_is_asked_for_its_parts_in_one_place(place: str) -> None:
    """``parts_of``; a wrapper, or a store from elsewhere, answers every other question as it happens to be written."""
    modules = sorted((ROOT / place).rglob("*.py"))
    found = {(str(each.relative_to(ROOT)), name) for each in modules for name in asked(each.read_text())}
    assert found - ALLOWED == set()
    assert place != PACKAGE.name or found == ALLOWED


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ('hasattr(self._core.store, "set_pause")', ["set_pause"]),
        ('getattr(store, "keeps_history", False)', ["keeps_history"]),
        ('getattr(one, "follow_ups", None)', ["follow_ups"]),
        ('getattr(self._store, "history")', []),
        ('hasattr(records, "columns")', []),
    ],
)
def test_the_walk_finds_questions(text: str, names: list[str]) -> None:
    assert list(asked(text)) == names


def test_the_port_is_what_leases_need() -> None:
    """Each name is in one protocol, and a store from elsewhere writes the first one only."""
    names = [names_of(each) for each in (port.PartitionStore, *PARTS)]
    assert [len(each) for each in names] == [28, 1, 4, 1, 3, 1]
    assert len(set().union(*names)) == 38
    assert len(fields(port.StoreParts)) == len(PARTS)
