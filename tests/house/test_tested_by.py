"""CONTRIBUTING says where the tests of each room are."""

from __future__ import annotations

import re

import pytest

from tests.house.tree import PACKAGE, ROOT, room_of

LINE = re.compile(r"^\| (`\w+`(?:, `\w+`)*) \| [^|]+ \| (.+) \|$", re.MULTILINE)
LINES = LINE.findall((ROOT / "CONTRIBUTING.md").read_text())


def test_every_room_has_a_line():
    said = [room for rooms, _ in LINES for room in re.findall(r"\w+", rooms)]
    assert sorted(said) == sorted({room_of(module) for module in PACKAGE.rglob("*.py")} - {""})


@pytest.mark.parametrize(("rooms", "where"), LINES, ids=[rooms for rooms, _ in LINES])
def test_what_it_names_has_tests(rooms, where):
    folders = re.findall(r"`(tests/[\w/]+)`", where)
    assert folders
    assert [folder for folder in folders if not list((ROOT / folder).rglob("test_*.py"))] == []
