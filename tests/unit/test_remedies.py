"""A4: the commands that messages name are understood by the command line, and say the key as it is."""

import re
from pathlib import Path

import pytest

import airflow_coordination
from airflow_coordination.hooks.task_errors import PartitionFailedError
from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.protocol.remedies import AIRFLOW, about, command, opened_by, shell_of, typed
from airflow_coordination.stores import open_store
from airflow_coordination.submission.lease_choice import LeaseChoice
from airflow_coordination.submission.task_instance import TaskMemory
from airflow_coordination.values.names import compose_source
from airflow_coordination.values.program import TYPED
from tests.unit.typed import understood

KEYS = [
    "2013-01",
    "a b",
    "it's",
    "-k",
    "--source",
    "a\\b",
    "x\x1b[31m\n'\\'",
    "\u202eb",
    "東京",
    "$(reboot)",
    "`id`",
    "!x",
]


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("prefix", [None, "east|1"])
def test_a4_a_remedy_is_what_the_command_line_understands(key, prefix):
    for name in ("release", "reopen", "reset", "show"):
        args = understood(about(AIRFLOW, name, compose_source("my flights", prefix, "PARTITION"), key))
        assert (args.command.name, args.source, args.partition_prefix) == (name, "my flights", prefix)
        assert args.key in (key, [key])
        assert name == "show" or args.why


@pytest.mark.parametrize(("source", "prefix"), [("-s", "-p"), ("--source", "--p"), ("=", "a=b")])
def test_a4_a_source_that_looks_like_an_option_is_none(source, prefix):
    args = understood(command("reopen", source, "k", prefix=prefix, shell=AIRFLOW))
    assert (args.source, args.partition_prefix, args.key) == (source, prefix, ["k"])


@pytest.mark.parametrize("key", KEYS)
def test_a4_a_remedy_never_reaches_the_terminal_as_it_is(key):
    assert command("show", "s", key, prefix=None, shell=AIRFLOW).isprintable()


def test_a4_what_a_failed_partition_says_can_be_typed():
    said = str(PartitionFailedError("2013-01", "no memory", None, "flights|PARTITION"))
    args = understood(re.search(f"{TYPED} .*(?=[.]$)", said).group())
    assert (args.command.name, args.key, args.source) == ("reopen", ["2013-01"], "flights")


def test_a4_what_a_cleared_task_says_can_be_typed():
    store = open_store("memory://")
    coordinator = SourceCoordinator(store, "flights", "host/dag/run/task/0/1", "east")
    done = LeaseChoice(coordinator, TaskMemory({}), None, "explain")._cleared("2013-01")
    args = understood(re.search("`(.*)`", done.message).group(1))
    assert (args.command.name, args.key, args.partition_prefix) == ("reset", ["2013-01"], "east")


def test_b2_a_command_names_its_store_and_the_program_that_can_open_it(tmp_path):
    """Pasted into any shell it finds this store, or none."""
    store = open_store(f"sqlite:///{tmp_path}/a%20store.db")
    args = understood(typed(SourceCoordinator(store, "flights", "o", "east"), "reopen", "-k"))
    assert open_store(args.store).description == store.description
    assert (args.source, args.partition_prefix, args.key) == ("flights", "east", ["-k"])
    assert shell_of(store).program == ("python", "-m", "airflow_coordination")
    opened_by(store, "elsewhere")
    told = typed(SourceCoordinator(store, "flights", "o"), "show", "k")
    assert told == f"{TYPED} show flights k --conn-id elsewhere"
    opened_by(store, "coordination_default")
    assert shell_of(store) == AIRFLOW


def test_b2_a_command_shows_no_password():
    store = open_store("postgresql://ana:hush@db.example/coordination?schema=east")
    said = typed(SourceCoordinator(store, "flights", "o"), "pause")
    assert "hush" not in said
    assert "db.example/coordination" in understood(said).store


def test_b2_no_other_place_makes_a_command_for_a_source():
    """What names a source is made by remedies.py, which names the store as well."""
    by_hand = re.compile(r"airflow[ _]coordination [a-z-]+ [^`\n]*--source|coordination [a-z-]+ [%{]")
    files = Path(airflow_coordination.__file__).parent.rglob("*.py")
    assert [file.name for file in files if by_hand.search(file.read_text())] == []
