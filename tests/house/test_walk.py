"""``scripts/walk.py`` walks the code as it is, and counts what was entered."""

from __future__ import annotations

import ast
import subprocess
import sys

import pytest

from airflow_coordination.values.names import check_key
from scripts.walk import AIMS, DRAIN, ENDING, HEADER, ZOMBIE, _hands_on, against_aims, walked
from tests.house.tree import ROOT


def ran(*options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "scripts/walk.py", *options]
    return subprocess.run(command, cwd=ROOT, capture_output=True, check=False, text=True)


def test_it_walks_through_the_house_of_today() -> None:
    result = ran("--check", "--files")
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith(HEADER)
    rows = {
        cells[1].strip(): list(map(int, cells[2:-1]))
        for line in result.stdout.splitlines()[2:5]
        if (cells := line.split("|"))
    }
    assert list(rows) == [DRAIN, ZOMBIE, ENDING]
    files = {name: row[2] for name, row in rows.items()}
    assert files[DRAIN] > files[ZOMBIE] > files[ENDING] > 10
    for entered in ("spark/tenure.py", "outputs/manifests.py", "leases/coordinator.py", "stores/sql/sqlite.py"):
        assert entered in result.stdout
    for name, aim in AIMS.items():
        assert f"{name}: {files[name]} files, the aim is {aim}: " in result.stdout


def test_it_knows_no_other_option() -> None:
    result = ran("--chekc")
    assert (result.returncode, result.stdout) == (2, "")
    assert "--chekc: no such option" in result.stderr


def test_what_is_called_of_the_package_is_counted_with_its_depth() -> None:
    walk = walked("a key", lambda: (check_key("a"), check_key("b")))
    assert walk.files == {"values/names.py"}
    assert [each.name for each in walk.entries if each.depth == 0] == ["check_key"] * 2
    assert walk.files_of_rooms() == {"values": ["values/names.py"]}
    assert walk.row().startswith(f"| a key | {len(walk.entries)} | {len(walk.functions)} | 1 | 1 | 0 | 0 | ")
    assert len(walk.entries) == 2 * len(walk.functions)


def test_an_error_of_the_way_is_raised_and_the_counting_has_ended() -> None:
    before = sys.getprofile()
    with pytest.raises(ValueError, match="key"):
        walked("no key", lambda: check_key(""))
    assert sys.getprofile() is before


@pytest.mark.parametrize(
    ("text", "hands_on"),
    [
        ("def f(self, x): return self.g(x)", True),
        ('def f(self, x, *, y):\n    """Say why."""\n    self.g(x, y=y)', True),
        ("def f(self, x): return self.g(x + 1)", False),
        ("def f(self, x): return self.g(self.y, x)", False),
        ("def f(self): return self.g()", False),
        ("def f(self, x):\n    x = 1\n    return self.g(x)", False),
        ("def f(self, x): return x", False),
        ('def f(self): """Nothing."""', False),
    ],
)
def test_a_station_hands_on_if_it_calls_with_its_own_arguments_and_does_nothing_else(text, hands_on) -> None:
    [function] = ast.parse(text).body
    assert _hands_on(function) is hands_on


def test_an_aim_says_how_far_it_is() -> None:
    walks = [walked(name, lambda: check_key("a")) for name in (DRAIN, ZOMBIE, ENDING)]
    assert against_aims(walks)[0] == f"{DRAIN}: 1 files, the aim is 58: reached"
