"""What ``make proof`` lets mutmut do: its settings name what there is, and its list such mutants as there are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.mutants.due import ROOT
from tests.mutants.plain.known import known, line_of
from tests.mutants.plain.sources import MODULES, SETTINGS, Mutant, mutants_of
from tests.mutants.plain.trial import Tried
from tests.mutants.plain.typed import said
from tests.proof import page
from tests.proof.ledger import Ledger


def test_the_settings_name_what_there_is() -> None:
    places = [*SETTINGS["only_mutate"], *SETTINGS["also_copy"], *SETTINGS["pytest_add_cli_args_test_selection"]]
    assert [place for place in places if not (ROOT / place).exists()] == []
    assert len(MODULES) == len(SETTINGS["only_mutate"]) >= 4


@pytest.mark.parametrize("module", MODULES)
def test_each_line_of_the_list_is_a_mutant_that_there_is(module: str) -> None:
    """Who changes a line of which a mutant is listed, looks at it again: `make mutants ONLY=plain.…`."""
    there, listed = set(mutants_of(module).values()), [one for one in known() if one.where.startswith(f"{module}.")]
    assert [line_of(one, known()[one]) for one in listed if one not in there] == []
    assert all(len(known()[one]) > 10 for one in listed)


def test_the_list_names_no_module_that_is_not_broken() -> None:
    assert {one.where.partition(".")[0] for one in known()} <= set(MODULES)


@pytest.mark.parametrize(
    ("lines", "said"), [("a.b\tx\ty", "3 columns"), ("a.b\tx\ty\tw\na.b\tx\ty\tw", "line 2.*twice")]
)
def test_a_list_that_is_wrong_is_refused(tmp_path: Path, lines: str, said: str) -> None:
    (tmp_path / "known.tsv").write_text(lines)
    with pytest.raises(ValueError, match=said):
        known(tmp_path / "known.tsv")


def test_what_mypy_says_of_mutmuts_own_lines_is_left_out(tmp_path: Path) -> None:
    """A mutant repeats an attribute's annotation, and mutmut's lines are marked: neither is an error of the mutant."""
    (tmp_path / "one.py").write_text(
        "class One:\n"
        "    def __init__(self) -> None:\n        self.count: int = 0\n\n"
        "    def x__mutmut_1(self) -> None:\n        self.count: int = 1\n\n"
        "    def x__mutmut_2(self) -> None:\n        self.count: int = None\n\n\n"
        "one = One()  # type: ignore # mutmut generated\n"
    )
    told = [json.loads(line) for line in said([str(tmp_path / "one.py")])]
    assert [(error["line"], error["code"]) for error in told] == [(9, "assignment")]


def test_a_survivor_fails_unless_it_is_listed_and_a_listed_one_that_is_caught_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    old, gone, new = (Mutant("supply.f", "a", letter) for letter in "bcd")
    monkeypatch.setattr("tests.mutants.plain.trial.known", lambda: {old: "as good", gone: "as good"})
    one = Tried("supply", 5, {"tests": 2, "mypy": 1}, (old, new))
    assert (one.new, one.idle) == ((new,), (gone,))


def test_the_page_is_told_what_came_of_a_module_and_keeps_what_it_knew(tmp_path: Path) -> None:
    ledger, file = Ledger(tmp_path / "ledger.jsonl"), tmp_path / "reliability.md"
    file.write_text("# Reliability\n\n## The model\n\nsaid\n\n## Versions\n\nMade on …\n")
    ledger.add("plain supply", {"mutants": 20, "by": {"tests": 12, "mypy": 4}, "wrong": ["one"]})
    page.renew("plain", ledger, file)
    written = file.read_text()
    assert f"| `leases/supply.py` | 20 | 16 (80.0%) | 12 | 4 | 3 | 1 | `{ledger.code}`" in written
    page.renew("plain", Ledger(tmp_path / "another machine's"), file)
    assert file.read_text() == written
    assert written.endswith("## The model\n\nsaid\n\n## Versions\n\nMade on …\n")
