"""The proof goes on where it ended: over sessions and machines, and after it was broken off."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.mutants.trial import Verdict
from tests.proof import page, parts
from tests.proof.ledger import Ledger
from tests.proof.simulated import KEPT, Simulated
from tests.simulation.batch import Tally
from tests.simulation.loaded import ROOT, digest
from tests.simulation.stores import STORES


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    return tmp_path / "simulated.json"


def some(first: int, broken: tuple[tuple[int, str], ...] = ()) -> Tally:
    return Tally("in_memory", first, 20, 8_000, Counter({"ok": 5_000}), Counter({"LOST": 900}), list(broken))


def test_a_session_goes_on_where_the_last_one_ended(kept: Path) -> None:
    for first in (0, 20):
        session = Simulated(kept, lambda _: "abc")
        assert session.begin("in_memory") == first
        session.add(some(first), "today")
    found = Simulated(kept).tally("in_memory")
    assert (found.seeds, found.operations, found.told, found.faults) == (40, 16_000, {"ok": 10_000}, {"LOST": 1_800})
    assert Simulated(kept).files("in_memory") == "abc"


def test_other_files_begin_anew_and_what_was_done_before_stays_a_sum(kept: Path) -> None:
    session = Simulated(kept, lambda _: "abc")
    session.begin("in_memory")
    session.add(some(0, ((7, "S1"),)), "yesterday")
    session = Simulated(kept, lambda _: "def")
    assert session.begin("in_memory") == 0
    session.add(some(0), "today")
    found = Simulated(kept)
    assert found.earlier == {"operations": 8_000, "faults": 900, "violations": 1}
    assert (found.tally("in_memory").operations, found.tally("in_memory").broken) == (8_000, [])


def test_the_page_says_of_which_files_and_what_was_before(tmp_path: Path, kept: Path) -> None:
    file = tmp_path / "reliability.md"
    file.write_text("# Reliability\n\n## On real processes\n\nsaid\n")
    session = Simulated(kept, lambda _: "abc")
    session.begin("in_memory")
    session.add(some(0, ((7, "S1"),)), "today")
    page.renew("simulation", Ledger(tmp_path / "ledger.jsonl", kept), file)
    written = file.read_text()
    assert "| in_memory | 20 | 8,000 | 900 | 1 | `today` (" in written
    assert ") | `abc` |\n" in written
    assert "\nBefore, on files that are others by now: 0 operations, 0 faults, 0 violations.\n" in written
    assert written.startswith("# Reliability\n\n## In virtual time\n")
    assert written.endswith("\n## On real processes\n\nsaid\n")


def test_the_page_is_what_is_kept() -> None:
    """Both are committed, and a page that was not renewed would say less than was done."""
    written = (ROOT / page.PAGE).read_text()
    for store in STORES:
        found = Simulated(ROOT / KEPT).tally(store)
        assert f"| {store} | {found.seeds:,} | {found.operations:,} | {found.faults.total():,} | 0 |" in written


@pytest.mark.parametrize("store", ["in_memory", "sqlite"])
def test_a_digest_is_of_what_a_run_loads_and_of_nothing_else(store: str) -> None:
    command = [sys.executable, "-m", "tests.simulation.loaded", store]
    *files, last = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    assert {"airflow_coordination/leases/acquisition.py", "tests/simulation/network.py"} <= set(files)
    assert not {"tests/simulation/loaded.py", "tests/simulation/batch.py", "tests/proof/page.py"} & set(files)
    assert ("airflow_coordination/stores/sql/store.py" in files) == (store == "sqlite")
    if store == "in_memory":
        assert digest(store) == last


@pytest.mark.parametrize("part", page.ALONE)
def test_a_machine_that_ran_nothing_changes_nothing_on_the_page(part: str, tmp_path: Path) -> None:
    """Or a session that runs one part alone would forget what others have run."""
    file, stands = tmp_path / "reliability.md", (ROOT / page.PAGE).read_text()
    file.write_text(stands)
    page.renew(part, Ledger(tmp_path / "ledger.jsonl", ROOT / KEPT), file)
    assert file.read_text() == stands
    page.write(Ledger(tmp_path / "ledger.jsonl", ROOT / KEPT), file)
    assert file.read_text().partition("\n## Versions")[0] == stands.partition("\n## Versions")[0]


def test_a_part_that_was_run_replaces_its_section_alone(tmp_path: Path) -> None:
    file, stands = tmp_path / "reliability.md", (ROOT / page.PAGE).read_text()
    file.write_text(stands)
    ledger = Ledger(tmp_path / "ledger.jsonl", ROOT / KEPT)
    ledger.add("mutants", {"caught": 7, "mutants": 8, "equivalent": 1, "wrong": [], "slowest": 5, "by": {"a": "S1: x"}})
    page.renew("mutants", ledger, file)
    before, after = stands.splitlines(), file.read_text().splitlines()
    start, end = (
        before.index("## The checks themselves"),
        before.index("## Plain modules, one expression broken at a time"),
    )
    assert "What caught them: S1 1." in " ".join(after)
    assert (after[:start], after[-(len(before) - end) :]) == (before[:start], before[end:])


def test_mutants_that_a_run_has_tried_which_was_broken_off_are_not_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = list[list[str]]()

    def tried(names: list[str], jobs: int) -> Iterator[Verdict]:
        asked.append(names)
        yield Verdict(names[0], None if names[0] == "as it is" else "S5: twice", operations=7)
        if len(asked) == 1:
            raise KeyboardInterrupt
        yield from (Verdict(name, "S1: lost", operations=9) for name in names[1:])

    for name, value in {"CONTROLS": ["as it is"], "EVERY": ["a", "b"], "all_tried": tried}.items():
        monkeypatch.setattr(parts, name, value)
    monkeypatch.setattr(
        parts, "is_as_expected", lambda verdict: bool(verdict.caught_by) == (verdict.name != "as it is")
    )
    ledger = Ledger(tmp_path / "ledger.jsonl")
    with pytest.raises(KeyboardInterrupt):
        parts.mutants(ledger, print)
    parts.mutants(ledger, print)
    assert asked == [["as it is", "a", "b"], ["a", "b"]]
    [line] = ledger.lines("mutants")
    assert (line["caught"], line["mutants"], line["equivalent"], line["wrong"]) == (2, 2, 0, [])
    assert line["by"] == {"a": "S5: twice", "b": "S1: lost"}
