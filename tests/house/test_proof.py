"""The proof goes on where it ended: over sessions and machines, and after it was broken off."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from tests.left_out import ROWS
from tests.mutants.trial import Verdict
from tests.proof import page, parts
from tests.proof.ledger import Ledger
from tests.proof.lines import add, read
from tests.proof.simulated import KEPT, Kept, Simulated
from tests.simulation.batch import Tally
from tests.simulation.loaded import ROOT, digest, outside_functions

MIGRATIONS = "airflow_coordination/stores/sql/migrations/versions"


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    return tmp_path / "simulated.json"


def some(first: int, broken: tuple[tuple[int, str], ...] = (), store: str = "in_memory") -> Tally:
    return Tally(store, first, 20, 8_000, Counter({"ok": 5_000}), Counter({"LOST": 900}), list(broken))


def page_as_committed(folder: Path) -> tuple[Path, str]:
    file, stands = folder / "reliability.md", (ROOT / page.PAGE).read_text()
    file.write_text(stands)
    return file, stands


def newest(kept: Path, store: str = "in_memory") -> Kept:
    found = Simulated(kept).newest(store)
    assert found
    return found


def test_a_session_goes_on_where_the_last_one_ended(kept: Path) -> None:
    for first in (0, 20):
        session = Simulated(kept, lambda _: "abc")
        assert session.begin("in_memory") == first
        session.add(some(first), "today")
    found = newest(kept).tally
    assert (found.seeds, found.operations, found.told, found.faults) == (40, 16_000, {"ok": 10_000}, {"LOST": 1_800})
    assert newest(kept).files == "abc"


def test_other_files_begin_anew_and_those_that_come_back_go_on(kept: Path) -> None:
    for files, first in (("abc", 0), ("def", 0), ("abc", 20)):
        session = Simulated(kept, lambda _, files=files: files)
        assert session.begin("in_memory") == first
        session.add(some(first, ((7, "S1"),)), "today")
    assert Simulated(kept).before() == {"operations": 8_000, "faults": 900, "violations": 1}
    assert newest(kept).tally.seeds == 40
    assert "S1" in kept.read_text().partition('"in_memory def"')[2]


def test_nobody_s_seeds_are_lost_or_counted_twice(kept: Path) -> None:
    one, other = (Simulated(kept, lambda _: "abc") for _ in range(2))
    assert one.begin("in_memory") == other.begin("in_memory") == other.begin("sqlite") == 0
    one.add(some(0), "today")
    other.add(some(0, store="sqlite"), "today")
    with pytest.raises(RuntimeError, match=r"has 20 seeds of in_memory by now, and these begin at 0: somebody else"):
        other.add(some(0), "today")
    assert newest(kept).tally.seeds == newest(kept, "sqlite").tally.seeds == 20


def test_who_begins_and_ends_without_a_seed_keeps_nothing(kept: Path, tmp_path: Path) -> None:
    session = Simulated(kept, lambda _: "abc")
    session.begin("sqlite")
    session.begin("in_memory")
    session.add(some(0), "today")
    file = tmp_path / "reliability.md"
    file.write_text("# Reliability\n\n## On real processes\n\nsaid\n")
    page.renew("simulation", Ledger(tmp_path / "ledger.jsonl", kept), file)
    assert "| sqlite | 0 | 0 | 0 | 0 |  |  |\n" in file.read_text()


def test_the_page_says_of_which_files_and_what_was_before(tmp_path: Path, kept: Path) -> None:
    file = tmp_path / "reliability.md"
    file.write_text("# Reliability\n\n## On real processes\n\nsaid\n")
    for files in ("old", "abc"):
        session = Simulated(kept, lambda _, files=files: files)
        session.begin("in_memory")
        session.add(some(0, ((7, "S1"),)), "today")
    page.renew("simulation", Ledger(tmp_path / "ledger.jsonl", kept), file)
    written = file.read_text()
    assert "| in_memory | 20 | 8,000 | 900 | 1 | `today` (" in written
    assert ") | `abc` |\n" in written
    assert "\nOn files that are others by now: 1 violations, 8,000 operations, 900 faults.\n" in written
    assert written.startswith("# Reliability\n\n## In virtual time\n")
    assert written.endswith("\n## On real processes\n\nsaid\n")


def test_the_page_is_what_is_kept(tmp_path: Path) -> None:
    """Both are committed. Where they differ: ``python -m tests.proof --page``."""
    file, stands = page_as_committed(tmp_path)
    page.renew("simulation", Ledger(tmp_path / "ledger.jsonl", ROOT / KEPT), file)
    assert file.read_text() == stands


@pytest.mark.parametrize("store", ["in_memory", "sqlite"])
def test_a_digest_is_of_what_a_run_depends_on_and_of_nothing_else(store: str) -> None:
    command = [sys.executable, "-m", "tests.simulation.loaded", store]
    *lines, last = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    counted = dict(reversed(line.split()) for line in lines)
    whole = {file for file, how in counted.items() if how == "whole"}
    assert {"airflow_coordination/leases/acquisition.py", "tests/simulation/network.py"} <= whole
    assert "airflow_coordination/outputs/overlays.py" in whole, "what is entered while it is imported counts, too"
    assert counted["airflow_coordination/outputs/parquet.py"] == "outside-functions"
    assert not {"tests/simulation/loaded.py", "tests/simulation/batch.py", "tests/proof/page.py"} & set(counted)
    migrations = {str(path.relative_to(ROOT)) for path in (ROOT / MIGRATIONS).glob("**/[0-9]*.py")}
    assert len(migrations) >= 18
    assert migrations & whole == (migrations if store == "sqlite" else set())
    assert any(file.startswith("airflow_coordination/stores/sql/") for file in counted) == (store == "sqlite")
    if store == "in_memory":
        assert digest(store) == last


def test_of_what_is_only_loaded_no_body_of_a_function_counts() -> None:
    before = outside_functions(b"A = 1\n\n\nclass C:\n    b: int\n\n    def c(self) -> int:\n        return 1\n")
    assert before.splitlines() == b"A = 1\n\n\nclass C:\n    b: int\n\n    def c(self) -> int:".splitlines()
    assert outside_functions(b"def stub() -> int: ...\n") == b"def stub() -> int: ..."


@pytest.mark.parametrize("part", page.ALONE)
def test_a_machine_that_ran_nothing_changes_nothing_on_the_page(part: str, tmp_path: Path) -> None:
    """Or a session that runs one part alone would forget what others have run."""
    file, stands = page_as_committed(tmp_path)
    page.renew(part, Ledger(tmp_path / "ledger.jsonl", ROOT / KEPT), file)
    assert file.read_text() == stands
    page.write(Ledger(tmp_path / "ledger.jsonl", ROOT / KEPT), file)
    assert file.read_text().partition("\n## Versions")[0] == stands.partition("\n## Versions")[0]


def test_one_store_s_run_leaves_the_rows_and_faults_of_the_others(tmp_path: Path) -> None:
    file, stands = page_as_committed(tmp_path)
    ledger = Ledger(tmp_path / "ledger.jsonl", ROOT / KEPT)
    counts = dict.fromkeys(("operations", "refused", "unknown", "partitions"), 7)
    run = {"store": "SQLite 9", "seconds": 5, "faults": {"a flood": 3}, "violations": [], "lacking": [], **counts}
    ledger.add("processes sqlite", run)
    page.renew("processes", ledger, file)
    gone = set(stands.splitlines()) - set(file.read_text().splitlines())
    come = set(file.read_text().splitlines()) - set(stands.splitlines())
    assert gone
    assert all("SQLite" in line or line in stands.partition("\nSQLite 3")[2].partition("\nDyn")[0] for line in gone)
    assert len(come) == 3
    assert come >= {"SQLite 9:", "| a flood | 3 |"}


def test_a_part_that_was_run_replaces_its_section_alone(tmp_path: Path) -> None:
    file, stands = page_as_committed(tmp_path)
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


def with_mutants(
    monkeypatch: pytest.MonkeyPatch,
    names: list[str],
    tried: Callable[[list[str], int], Iterator[Verdict]],
    expected: Callable[[Verdict], bool],
) -> None:
    """Let the proof know these mutants, beside the control ``as it is``, and what becomes of them."""
    instead = {"CONTROLS": ["as it is"], "EVERY": names, "all_tried": tried, "is_as_expected": expected}
    for name, value in instead.items():
        monkeypatch.setattr(parts, name, value)


def test_a_mutant_that_is_listed_and_caught_is_named_and_counts_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one that is neither: the page says which, so that somebody changes the list or the tests."""
    by = {"as it is": None, "caught": "S5: twice", "listed": None, "listed, caught": "S1: lost", "missed": None}

    def tried(names: list[str], jobs: int) -> Iterator[Verdict]:
        yield from (Verdict(name, by[name], operations=9) for name in names)

    with_mutants(monkeypatch, [*by][1:], tried, lambda verdict: verdict.name in ("as it is", "caught", "listed"))
    file, _ = page_as_committed(tmp_path)
    ledger = Ledger(tmp_path / "ledger.jsonl", ROOT / KEPT)
    parts.mutants(ledger, print)
    page.renew("mutants", ledger, file)
    told = " ".join(file.read_text().split())
    assert "2 of 4 were caught" in told
    assert "1 are known to be as good as the code; not as expected: listed, caught, missed; the slowest" in told


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

    with_mutants(
        monkeypatch, ["a", "b"], tried, lambda verdict: bool(verdict.caught_by) == (verdict.name != "as it is")
    )
    ledger = Ledger(tmp_path / "ledger.jsonl")
    ledger.code = "0cd6045"
    with pytest.raises(KeyboardInterrupt):
        parts.mutants(ledger, print)
    parts.mutants(ledger, print)
    assert asked == [["as it is", "a", "b"], ["a", "b"]]
    [line] = ledger.lines("mutants")
    assert (line["caught"], line["mutants"], line["equivalent"], line["wrong"]) == (2, 2, 0, [])
    assert line["by"] == {"a": "S5: twice", "b": "S1: lost"}
    parts.mutants(ledger, print)
    ledger.code = "0cd6045-dirty"
    for _ in range(2):
        parts.mutants(ledger, print)
    assert asked[2:] == [["as it is", "a", "b"]] * 3


def test_tests_that_a_run_has_tried_which_was_broken_off_are_not_tried_again(tmp_path: Path) -> None:
    """And what came of them counts, a failure too."""
    tests = """
        import os, pathlib, pytest

        @pytest.fixture
        def broken():
            yield
            assert False

        def test_a(): pass
        def test_b(): assert False
        def test_c(broken): pass
        def test_d(): pytest.skip("not here")
        def test_e():
            if not pathlib.Path("again").exists():
                pathlib.Path("again").touch()
                os._exit(9)  # as who is killed
        def test_f(): pass
    """
    (tmp_path / "test_some.py").write_text(textwrap.dedent(tests))
    notes = tmp_path / "notes.jsonl"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.proof.noting", f"--noted={notes}", "test_some.py"]
    at_root = {**os.environ, "PYTHONPATH": str(ROOT)}
    told = {}
    for ended in (9, 0):
        run = subprocess.run(command, cwd=tmp_path, env=at_root, capture_output=True, text=True, check=False)
        assert run.returncode == ended, run.stdout
        told[ended] = {line["test"].partition("::test_")[2]: line["outcome"] for line in read(notes)}
    assert told[9] == {"a": "passed", "b": "failed", "c": "failed", "d": "skipped"}
    assert told[0] == {**told[9], "e": "passed", "f": "passed"}
    assert len(list(read(notes))) == 6


@pytest.mark.parametrize("cut", ['{"n": 2', '{"n": 2}'])
def test_a_line_that_was_cut_off_breaks_none_that_follow(cut: str, tmp_path: Path) -> None:
    file = tmp_path / "some" / "lines.jsonl"
    add(file, {"n": 1})
    with file.open("a") as cut_off:
        cut_off.write(cut)
    add(file, {"n": 3})
    add(file, {"n": 4})
    assert [line["n"] for line in read(file) if line["n"] != 2] == [1, 3, 4]


def test_a_row_that_was_broken_off_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    row = next(row for row in ROWS if row.name == "cases of Druid, each expectation changed")
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", f"--row={row.name}", *row.places]
    asked = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    tests = [line for line in asked.stdout.splitlines() if "::" in line]
    ledger = Ledger(tmp_path / "ledger.jsonl")
    ledger.code = "0cd6045"
    with suppress(KeyboardInterrupt), ledger.notes(f"rest {row.name}") as notes:
        add(notes, {"test": tests[0], "outcome": "failed", "seconds": 60.0})
        raise KeyboardInterrupt
    parts.rest(row, ledger, print)
    [line] = ledger.lines(f"rest {row.name}")
    assert (line["passed"], line["failed"]) == (len(tests) - 1, 1)
    assert line["seconds"] > 60.0
    assert not notes.exists()


def test_a_tree_with_changes_begins_anew(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.jsonl")
    for code, stands in {"0cd6045": True, "0cd6045-dirty": False}.items():
        ledger.code = code
        with suppress(KeyboardInterrupt), ledger.notes("rest Spark") as notes:
            add(notes, {"test": "a"})
            raise KeyboardInterrupt
        with ledger.notes("rest Spark") as notes:
            assert notes.exists() == stands


def test_a_row_whose_tests_cannot_be_run_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    row = replace(ROWS[0], places=("tests/nowhere.py",))
    ledger = Ledger(tmp_path / "ledger.jsonl")
    with pytest.raises(RuntimeError, match=r"the model's search did not come to the end; run its tests: pytest tests"):
        parts.rest(row, ledger, print)
    assert not ledger.has(f"rest {row.name}")


def test_what_a_proof_writes_itself_makes_no_other_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    git = ("git", "-c", "user.name=ana", "-c", "user.email=ana@example.com")
    for path in ("docs/reliability.md", "tests/proof/simulated.json", "code.py"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("said\n")
    for words in (("init", "-q"), ("add", "."), ("commit", "-qm", "all")):
        subprocess.run([*git, *words], check=True)
    clean = Ledger(tmp_path / "ledger.jsonl").code
    for path in ("docs/reliability.md", "tests/proof/simulated.json"):
        (tmp_path / path).write_text("said more\n")
    assert Ledger(tmp_path / "ledger.jsonl").code == clean
    (tmp_path / "code.py").write_text("else\n")
    assert Ledger(tmp_path / "ledger.jsonl").code == f"{clean}-dirty"
