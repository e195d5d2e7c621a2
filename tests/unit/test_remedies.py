"""A4: the commands that messages name are understood by the command line, and say the key as it is."""

import re

import pytest

from airflow_coordination.hooks.retries import PartitionFailedError
from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.leases.names import compose_source
from airflow_coordination.leases.remedies import about, command
from airflow_coordination.stores import open_store
from airflow_coordination.submission.lease_choice import LeaseChoice
from airflow_coordination.submission.task_memory import TaskMemory
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
        args = understood(about(name, compose_source("my flights", prefix, "PARTITION"), key))
        assert (args.command.name, args.source, args.partition_prefix) == (name, "my flights", prefix)
        assert args.key in (key, [key])
        assert name == "show" or args.why


@pytest.mark.parametrize(("source", "prefix"), [("-s", "-p"), ("--source", "--p"), ("=", "a=b")])
def test_a4_a_source_that_looks_like_an_option_is_none(source, prefix):
    args = understood(command("reopen", source, "k", prefix=prefix))
    assert (args.source, args.partition_prefix, args.key) == (source, prefix, ["k"])


@pytest.mark.parametrize("key", KEYS)
def test_a4_a_remedy_never_reaches_the_terminal_as_it_is(key):
    assert command("show", "s", key).isprintable()


def test_a4_what_a_failed_partition_says_can_be_typed():
    said = str(PartitionFailedError("2013-01", "no memory", None, "flights|PARTITION"))
    args = understood(re.search("airflow coordination .*(?=[.]$)", said).group())
    assert (args.command.name, args.key, args.source) == ("reopen", ["2013-01"], "flights")


def test_a4_what_a_cleared_task_says_can_be_typed():
    store = open_store("memory://")
    coordinator = SourceCoordinator(store, "flights", "host/dag/run/task/0/1", "east")
    done = LeaseChoice(coordinator, TaskMemory({}), None, "explain")._cleared("2013-01")
    args = understood(re.search("`(.*)`", done.message).group(1))
    assert (args.command.name, args.key, args.partition_prefix) == ("reset", ["2013-01"], "east")
