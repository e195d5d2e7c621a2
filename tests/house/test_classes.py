"""How classes hang together: what they inherit, and what a store is asked for."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import fields
from pathlib import Path

import pytest

from airflow_coordination.protocol.beside import parts
from tests.house.tree import PACKAGE, ROOT

BASES = 3
"""The most classes of ours that a class may have above itself; errors, whose tree is their meaning, any number."""
PARTS = (
    parts.FusedSteps,
    parts.Pauses,
    parts.History,
    parts.FollowUps,
    parts.Sums,
    parts.Ranges,
    parts.Glances,
    parts.Enabling,
    parts.Chunks,
    parts.HeadIntervals,
    parts.Documents,
    parts.Branches,
    parts.Ended,
)
QUESTIONS = {"hasattr": 2, "getattr": 3}
"""What asks whether something is there, and with how many arguments."""
ALLOWED = {
    ("airflow_coordination/protocol/beside/parts.py", "parts"),
    ("airflow_coordination/stores/opening.py", "acquire_next"),
    ("airflow_coordination/protocol/remedies.py", ""),
}
"""What parts a store has; whether something is a store at all; by which connection we have opened it."""


def names_of(protocol: type) -> set[str]:
    """Return what a store, or a part of one, has to have."""
    return {name for name in {*vars(protocol), *protocol.__annotations__} if not name.startswith("_")}


OF_PARTS = {"parts", *(each.name for each in fields(parts.StoreParts)), *(n for each in PARTS for n in names_of(each))}


def above(classes: dict[str, list[str]], name: str) -> set[str]:
    """Return the classes that a class inherits from, however far up."""
    found: set[str] = set()
    left = [name]
    while left:
        more = set(classes[left.pop()]) & classes.keys() - found - {name}
        found |= more
        left += more
    return found


def bases(modules: Iterable[Path]) -> dict[str, list[str]]:
    """Return the bases of each class, by its name."""
    found: dict[str, list[str]] = {}
    for module in modules:
        for node in ast.walk(ast.parse(module.read_text())):
            if isinstance(node, ast.ClassDef):
                plain = [each.value if isinstance(each, ast.Subscript) else each for each in node.bases]
                found.setdefault(node.name, []).extend(ast.unparse(each).rpartition(".")[2] for each in plain)
    return found


def test_no_class_is_cut_into_many() -> None:
    """A class with many bases is one class in several files, each of which reaches all the others through ``self``."""
    classes = bases(PACKAGE.rglob("*.py"))
    many = {name for name in classes if len(above(classes, name)) > BASES and not name.endswith("Error")}
    assert many == set()


def test_bases_are_counted_however_far_up(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("class A: ...\nclass B(A): ...\nclass C(B): ...\n")
    (tmp_path / "b.py").write_text("class D(a.C, Generic[T]): ...\nclass E(D): ...\n")
    classes = bases(tmp_path.glob("*.py"))
    assert (above(classes, "E"), above(classes, "D")) == ({"A", "B", "C", "D"}, {"A", "B", "C"})


def asked(text: str) -> Iterator[str]:
    """Yield what a store is asked for, or anything under the name of a part; empty where the name is no text."""
    if not any(question in text for question in QUESTIONS):
        return  # most files: reading a thousand takes seconds
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
    names = [names_of(each) for each in (parts.PartitionStore, *PARTS)]
    assert [len(each) for each in names] == [28, 1, 4, 1, 3, 1, 2, 1, 4, 4, 1, 6, 2, 4]
    assert len(set().union(*names)) == 62
    assert len(fields(parts.StoreParts)) == len(PARTS)
