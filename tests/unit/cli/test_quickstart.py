"""Writing and removing the example. That it runs is shown in tests/system."""

from __future__ import annotations

import fcntl
import json
import os
import shlex
from importlib.resources import files
from pathlib import Path

import pytest

from airflow_coordination.cli.quickstart.example import Example
from airflow_coordination.cli.standalone import main
from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.stores import open_store

JAVA = "#!/bin/sh\necho 'openjdk version \"{}\"' >&2\n"


@pytest.fixture(autouse=True)
def empty(tmp_path, monkeypatch):
    """An empty working directory, on a machine without Java."""
    place = tmp_path / "empty"
    place.mkdir()
    monkeypatch.chdir(place)
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr("airflow_coordination.cli.java._INSTALLED", tmp_path / "jvm")
    return place


@pytest.fixture
def java(tmp_path):
    """Install a stand-in for Java; return its home."""

    def install(version, home):
        program = tmp_path / home / "bin" / "java"
        program.parent.mkdir(parents=True)
        program.write_text(JAVA.format(version))
        program.chmod(0o755)
        return program.parent.parent

    return install


@pytest.fixture
def quickstart(capsys):
    """Run the command; return its exit code and what it says."""

    def run(*argv):
        code = main(["quickstart", *argv])
        return code, capsys.readouterr().err

    return run


def written(folder):
    return sorted(path.name for path in (folder / "dags" / "coordination_quickstart").iterdir())


def example(name):
    return (files("airflow_coordination.examples") / name).read_text()


def test_an_example_for_spark(quickstart, empty, java, monkeypatch):
    home = java("17.0.19", "java17")
    monkeypatch.setenv("JAVA_HOME", str(home))
    code, said = quickstart()
    folder = empty / "dags" / "coordination_quickstart"
    assert code == 0
    assert (folder / "sales.py").read_text() == example("sales.py")
    assert (folder / "sales_job.py").read_text() == example("sales_job.py")
    assert (folder / "sales-2026-01.csv").read_text().splitlines()[:3] == ["day,amount", "2026-01-01,1", "2026-01-02,2"]
    assert len(list(folder.glob("sales-2026-??.csv"))) == 6
    assert f"set -a; . {folder}/airflow.env; set +a; airflow standalone" in said
    assert "switch on the DAG coordination_quickstart" in said


def test_what_airflow_needs_is_in_one_file_that_a_shell_reads(quickstart, empty, java, monkeypatch):
    monkeypatch.setenv("JAVA_HOME", str(java("21.0.1", "java 21")))
    monkeypatch.setenv("AIRFLOW__COORDINATION__BOARD_CONNECTIONS", "ours")
    quickstart()
    folder = empty / "dags" / "coordination_quickstart"
    lines = shlex.split((folder / "airflow.env").read_text(), comments=True)
    found = dict(line.split("=", 1) for line in lines)
    store = json.loads(found["AIRFLOW_CONN_COORDINATION_QUICKSTART"])
    assert store == {"conn_type": "coordination", "host": f"sqlite:///{folder}/coordination.db"}
    assert json.loads(found["AIRFLOW_CONN_COORDINATION_QUICKSTART_SPARK"])["host"] == "local[2]"
    assert found["AIRFLOW__COORDINATION__BOARD_CONNECTIONS"] == "ours,coordination_quickstart"
    assert Path(found["JAVA_HOME"]).name == "java 21"
    assert SourceCoordinator(open_store(store["host"]), "quickstart", "test").counts()


@pytest.mark.parametrize("version", [None, "11.0.2", "25"])
def test_without_a_java_that_fits_plain_python_does_the_work(quickstart, empty, java, monkeypatch, version):
    if version:
        monkeypatch.setenv("JAVA_HOME", str(java(version, "java")))
    code, said = quickstart()
    assert code == 0
    assert "There is no Java 17 or 21 in JAVA_HOME, on PATH or in /usr/lib/jvm" in said
    assert {"sales_without_spark.py"} == {name for name in written(empty) if name.endswith(".py")}


def test_a_java_of_the_system_is_found_where_java_home_names_another(quickstart, empty, java, monkeypatch):
    monkeypatch.setenv("JAVA_HOME", str(java("11.0.2", "java11")))
    java("17.0.19", "jvm/java-17")
    quickstart()
    assert "sales.py" in written(empty)
    assert "jvm/java-17" in (empty / "dags" / "coordination_quickstart" / "airflow.env").read_text()


def test_cleaning_leaves_nothing_of_it(quickstart, empty):
    quickstart()
    folder = empty / "dags" / "coordination_quickstart"
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__" / "sales_without_spark.cpython-311.pyc").touch()
    (folder / "published").mkdir()
    (folder / "published" / "sales-2026-01.csv").touch()
    code, said = quickstart("--clean")
    assert (code, list(empty.iterdir())) == (0, [])
    assert f"Removed 8 files and what they have made from {folder}." in said


def test_cleaning_removes_nothing_else(quickstart, empty):
    (empty / "dags").mkdir()
    (empty / "dags" / "mine.py").touch()
    quickstart()
    folder = empty / "dags" / "coordination_quickstart"
    (folder / "sales-2027-01.csv").write_text("day,amount\n")
    (folder / "sales-2026-02.csv").write_text("day,amount\n")
    code, said = quickstart("--clean")
    assert code == 0
    assert sorted(path.name for path in empty.rglob("*") if path.is_file()) == [
        "mine.py",
        "sales-2026-02.csv",
        "sales-2027-01.csv",
    ]
    assert f"Left {folder}/sales-2026-02.csv: somebody has changed it." in said


def test_cleaning_where_nothing_is(quickstart, empty):
    code, said = quickstart("--clean", "--dags-folder", "elsewhere")
    assert (code, said) == (0, f"There is no example of quickstart in {empty}/elsewhere.\n")


def test_a_home_that_is_no_airflow_of_its_own_is_never_removed(quickstart, empty):
    quickstart()
    record = empty / "dags" / "coordination_quickstart" / "written.json"
    (empty / "precious").mkdir()
    record.write_text(json.dumps({**json.loads(record.read_text()), "homes": [str(empty / "precious")]}))
    quickstart("--clean")
    assert [path.name for path in empty.iterdir()] == ["precious"]


def test_again_it_writes_the_same_and_changes_the_way_of_working(quickstart, empty, java, monkeypatch):
    quickstart()
    assert quickstart()[0] == 0
    monkeypatch.setenv("JAVA_HOME", str(java("17.0.19", "java17")))
    quickstart()
    assert [name for name in written(empty) if name.endswith(".py")] == ["sales.py", "sales_job.py"]
    quickstart("--no-spark")
    assert [name for name in written(empty) if name.endswith(".py")] == ["sales_without_spark.py"]
    quickstart("--clean")
    assert list(empty.iterdir()) == []


@pytest.mark.parametrize("name", ["sales-2026-03.csv", "airflow.env", "coordination.db"])
def test_a_file_of_somebody_else_is_not_overwritten(quickstart, empty, name):
    folder = empty / "dags" / "coordination_quickstart"
    folder.mkdir(parents=True)
    (folder / name).write_text("mine")
    code, said = quickstart()
    assert (code, written(empty), (folder / name).read_text()) == (1, [name], "mine")
    assert f"Error: {folder}/{name} is there, and quickstart has not written it" in said
    assert "Move it away, or use another folder: --dags-folder" in said


def test_a_file_that_was_changed_since_is_not_overwritten(quickstart, empty):
    quickstart()
    path = empty / "dags" / "coordination_quickstart" / "sales_without_spark.py"
    path.write_text("mine")
    code, said = quickstart()
    assert (code, path.read_text()) == (1, "mine")
    assert "or somebody has changed it since" in said


def test_an_airflow_of_somebody_else_is_not_used(quickstart, empty):
    (empty / "airflow").mkdir()
    code, said = quickstart("--run")
    assert code == 1
    assert f"Error: {empty}/airflow is there, and quickstart has not written it" in said
    assert [path.name for path in empty.iterdir()] == ["airflow"]


@pytest.mark.parametrize("record", ["[]", "{", '{"files": 1}'])
def test_a_record_that_cannot_be_read(quickstart, empty, record):
    folder = empty / "dags" / "coordination_quickstart"
    folder.mkdir(parents=True)
    (folder / "written.json").write_text(record)
    for argv in ((), ("--clean",)):
        code, said = quickstart(*argv)
        assert (code, written(empty)) == (1, ["written.json"])
        assert "is no record of what quickstart has written. Move it away" in said


def test_one_that_runs_is_neither_written_again_nor_removed(quickstart, empty):
    quickstart()
    folder = os.open(empty / "dags" / "coordination_quickstart", os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)
    try:
        for argv in ((), ("--clean",), ("--run",)):
            code, said = quickstart(*argv)
            assert code == 1
            assert "coordination_quickstart is running. End it with Ctrl-C first." in said
    finally:
        os.close(folder)
    assert "sales_without_spark.py" in written(empty)


def test_run_and_clean_are_two_commands(quickstart):
    code, said = quickstart("--run", "--clean")
    assert code == 1
    assert "--clean=True: is named beside --run. Run it first, and clean up afterwards" in said


@pytest.mark.parametrize("name", ["what?", "100%"])
def test_a_path_that_airflow_does_not_bear(quickstart, empty, monkeypatch, name):
    (empty / name).mkdir()
    monkeypatch.chdir(empty / name)
    code, said = quickstart("--run")
    assert (code, list((empty / name).iterdir())) == (1, [])
    assert f"Airflow's SQLite does not bear {name[-1]} in a path. Use another directory." in said


def test_a_path_with_all_that_a_name_may_have(quickstart, empty):
    folder = empty / "it's 100%25 #1?"
    assert quickstart("--dags-folder", str(folder))[0] == 0
    assert (folder / "coordination_quickstart" / "coordination.db").is_file()
    found = shlex.split((folder / "coordination_quickstart" / "airflow.env").read_text(), comments=True)
    store = json.loads(found[0].partition("=")[2])["host"]
    assert open_store(store).sources() == []
    quickstart("--dags-folder", str(folder), "--clean")
    assert list(empty.iterdir()) == []


def test_running_needs_airflow(quickstart, empty, monkeypatch):
    monkeypatch.setattr("airflow_coordination.cli.quickstart.command.installed", lambda name: None)
    code, said = quickstart("--run")
    assert (code, list(empty.iterdir())) == (1, [])
    assert "needs Airflow, which is not installed here. pip install 'airflow-coordination[airflow,spark]'" in said


def test_within_airflow_it_goes_into_its_dag_folder(capsys, tmp_path):
    from airflow.cli import cli_parser

    from airflow_coordination.cli.airflow_commands import _places

    args = cli_parser.get_parser().parse_args(["coordination", "quickstart", "--dags-folder", str(tmp_path / "d")])
    args.func(args)
    assert (tmp_path / "d" / "coordination_quickstart" / "sales_without_spark.py").is_file()
    places = _places()
    assert (places.dags_folder.name, places.board_connections) == ("dags", "coordination_default")


@pytest.fixture
def homes(empty):
    """Return an example that has run in two directories, with what an Airflow makes there."""
    example = Example(empty / "dags")
    for name in ("A", "B"):
        (empty / name).mkdir()
        example.write({}, with_spark=False, home=empty / name / "airflow")
        for made in ("airflow.cfg", "airflow.db", "airflow.db-wal", "standalone.log"):
            (empty / name / "airflow" / made).touch()
        (empty / name / "airflow" / "logs").mkdir()
    (example.folder / "published" / "_attempts").mkdir(parents=True)
    return example, empty


def left(place):
    return sorted(str(path.relative_to(place)) for path in place.rglob("*") if path.is_file() or path.is_symlink())


def test_small_x6_cleaning_removes_every_home_it_has_made(homes):
    """X6: of two directories it forgot the first."""
    example, place = homes
    assert example.clean()[1] == {}
    assert sorted(path.name for path in place.iterdir()) == ["A", "B"]
    assert left(place) == []


def test_small_x6_what_a_user_put_there_stays_and_is_named(homes):
    """X6: plugins and outputs of a user's own went with the rest, unnamed."""
    example, place = homes
    mine = [place / "A" / "airflow" / "plugins" / "mine.py", example.folder / "published" / "mine.txt"]
    for path in mine:
        path.parent.mkdir(exist_ok=True)
        path.write_text("mine")
    assert set(example.clean()[1]) == {mine[0].parent, mine[1]}
    assert left(place) == sorted(str(path.relative_to(place)) for path in mine)


def test_small_x6_a_home_that_is_a_link_by_now_is_left(homes):
    """X6: it ended with an error of Python's."""
    example, place = homes
    (place / "A" / "airflow").rename(place / "elsewhere")
    (place / "A" / "airflow").symlink_to(place / "elsewhere")
    assert example.clean()[1] == {place / "A" / "airflow": "it is a link by now"}
    assert (place / "elsewhere" / "airflow.db").exists()
    assert not (place / "B" / "airflow").exists()


def test_small_x6_a_record_of_before_names_its_one_home(homes):
    """A record that an earlier version has written is understood."""
    example, place = homes
    record = json.loads((example.folder / "written.json").read_text())
    record["home"] = record.pop("homes")[0]
    (example.folder / "written.json").write_text(json.dumps(record))
    assert example.homes == [place / "A" / "airflow"]
