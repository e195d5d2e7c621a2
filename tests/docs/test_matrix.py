"""A cell of the matrix is green by runs of all its steps on one commit, and by nothing else."""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace

import pytest

from tests.docs.pages import ROOT
from tests.matrix import __main__ as program
from tests.matrix import steps
from tests.matrix.cells import CELLS, named
from tests.matrix.making import CannotBeHadError, _ran, interpreter
from tests.matrix.results import MADE, Run, _verdict, commit_of, green, note, read
from tests.matrix.steps import told

SAYS = re.compile(r"^Green on commit `(?P<commit>[0-9a-f]{12})`: (?P<cells>.*)\.$", re.M)
CELL = CELLS[0]
RUNS = [Run(CELL.name, step, "ok", "", "1", "a" * 40, "2026-11-27") for step in (MADE, *CELL.steps)]


def test_each_cell_that_readme_names_is_green_on_the_commit_that_it_names():
    [said] = SAYS.finditer((ROOT / "README.md").read_text())
    runs = read()
    [commit] = {run.commit for run in runs if run.commit.startswith(said["commit"])}
    cells = [named(name) for name in re.findall(r"`(.+?)`", said["cells"])]
    assert cells
    assert [cell.name for cell in cells if not green(cell, runs, commit)] == []


def test_a_cell_whose_steps_all_ran_on_the_commit_is_green():
    assert green(CELL, RUNS, "a" * 40)


@pytest.mark.parametrize("change", [{"commit": "b" * 40}, {"verdict": "failed"}])
@pytest.mark.parametrize("at", range(len(RUNS)))
def test_a_cell_is_not_green_by_an_older_run_or_one_that_failed(at, change):
    runs = [replace(run, **change) if place == at else run for place, run in enumerate(RUNS)]
    assert not green(CELL, runs, "a" * 40)


def test_a_run_takes_the_place_of_the_one_before(tmp_path):
    file = tmp_path / "results.tsv"
    for run in (*RUNS, replace(RUNS[0], commit="b" * 40)):
        note(run, file)
    assert read(file) == [*RUNS[1:], replace(RUNS[0], commit="b" * 40)]
    assert commit_of(read(file)) == "b" * 40


def test_a_cell_that_was_green_on_another_commit_says_on_which():
    assert _verdict(CELL, RUNS, "b" * 40) == f"green on `{'a' * 12}`: {', '.join(CELL.steps)}"
    assert _verdict(CELL, RUNS, "a" * 40) == f"green: {', '.join(CELL.steps)}"


def test_the_commit_that_is_spoken_of_is_the_one_on_which_most_cells_are_green():
    later = [Run("pyspark4.0-py3.11", step, "ok", "", "1", "b" * 40, "2026-11-28") for step in (MADE, "drain")]
    more = [replace(run, cell="pyspark4.1-py3.11") for run in later]
    assert commit_of([*RUNS, later[0]]) == "a" * 40, "one that has only begun"
    assert commit_of([*RUNS, *later]) == "b" * 40, "of equals the newest"
    assert commit_of([*later, *more, *RUNS]) == "b" * 40
    assert commit_of([]) == ""


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """Commits a file, and returns the commit."""

    def commit(name):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
        for words in (["add", "."], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", name]):
            subprocess.run(["git", *words], cwd=tmp_path, check=True)
        return program._git("rev-parse", "HEAD")

    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    monkeypatch.setattr(program, "ROOT", tmp_path)
    return commit


def test_a_page_that_lands_between_two_cells_leaves_them_on_one_commit(repository, monkeypatch):
    first = repository("airflow_coordination/values.py")
    monkeypatch.setattr(program, "read", lambda: [replace(RUNS[0], commit=first)])
    assert program._spoken_of(repository("docs/page.md")) == first
    second = repository("airflow_coordination/leases.py")
    assert program._spoken_of(second) == second
    monkeypatch.setattr(program, "read", list)
    assert program._spoken_of(second) == second


def test_each_cell_has_a_name_of_its_own():
    assert len({cell.name for cell in CELLS}) == len(CELLS)


def test_an_unknown_cell_is_refused_with_those_that_there_are():
    with pytest.raises(SystemExit, match=r"is no cell\. Name one of: airflow3\.3-py3\.14, "):
        named("airflow2.0-py2.7")


def test_a_python_that_is_not_there_is_looked_for_elsewhere(tmp_path, monkeypatch):
    """It was: the first place of none ended the whole run. A place of nobody's has neither pyenv nor Maven."""
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CannotBeHadError, match=r"no Python 3\.99"):
        interpreter("3.99")


@pytest.fixture
def noted(monkeypatch, tmp_path):
    """The runs that are kept, of an environment that needs no making, and none from before."""
    kept = []
    monkeypatch.setattr(program, "note", kept.append)
    monkeypatch.setattr(program, "read", list)
    monkeypatch.setattr(program, "PLACE", tmp_path)
    monkeypatch.setattr(program, "made", lambda cell: tmp_path / "python")
    return kept


def tell(noted):
    return [(run.cell, run.step, run.verdict, run.said) for run in noted]


def test_a_cell_that_cannot_be_made_for_whatever_reason_is_noted_and_the_next_one_is_tried(noted, monkeypatch):
    def fails(cell):
        raise OSError("no space left")

    monkeypatch.setattr(program, "made", fails)
    failed = [program._try_cell(cell, "a" * 40, None, again=True, keep=False) for cell in CELLS[:2]]
    assert failed == [1, 1]
    assert tell(noted) == [(cell.name, MADE, "failed", "unexpected OSError: no space left") for cell in CELLS[:2]]


def test_a_step_that_meets_what_nobody_thought_of_is_noted_and_the_next_one_is_tried(noted, monkeypatch):
    def fails(place):
        raise KeyError("text")

    monkeypatch.setattr(steps, "STEPS", {"imports": fails, "drain": lambda place: "drained"})
    assert program._try_cell(CELL, "a" * 40, {"imports", "drain"}, again=True, keep=False) == 1
    assert tell(noted)[1:] == [
        (CELL.name, "imports", "failed", "unexpected KeyError: 'text'"),
        (CELL.name, "drain", "ok", "drained"),
    ]


def test_a_failure_is_kept_without_the_place_of_a_registry():
    with pytest.raises(CannotBeHadError, match=r"^cannot ask a registry now$"):
        _ran(["bash", "-c", "echo cannot ask https://host.example/simple now >&2; exit 1"])


def test_readme_is_followed_with_the_program_that_an_airflow_has():
    commands = {
        name: "".join(step["text"] for step in told(named(name)) if step["kind"] == "shell")
        for name in ("airflow3.1-py3.11", "airflow3.2-py3.11")
    }
    assert "python -m airflow_coordination list" in commands["airflow3.1-py3.11"]
    assert "airflow coordination" not in commands["airflow3.1-py3.11"]
    assert "airflow coordination list" in commands["airflow3.2-py3.11"]
