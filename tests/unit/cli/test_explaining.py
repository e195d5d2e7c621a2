"""``explain KEY``, as people and programs read it."""

import json

import pytest
import yaml

from airflow_coordination.cli.standalone import main
from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.stores import open_store
from tests.unit.typed import words

HOSTILE = "a\x1b[31m\u202eb\ttab"
LONG = "x" * 2048


@pytest.fixture
def url(tmp_path):
    url = f"sqlite:///{tmp_path / 'c.db'}"
    store = open_store(url)
    store.setup()
    flights = SourceCoordinator(store, "flights", "test", "east", max_failures=1)
    flights.create_partitions(["2013-01", "2013-02", HOSTILE, LONG])
    for key in ("2013-01", HOSTILE, LONG):
        flights.fail(flights.acquire_partition(key), "ValueError: month 13\nat line 4")
    store.close()
    return url


@pytest.fixture
def explain(url, capsys):
    """Run ``explain``; return exit code, standard output and standard error."""

    def run(key, *argv):
        code = main(["explain", "flights", "--partition-prefix", "east", *argv, "--store", url, "--", key])
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


SENTENCE = "Partition '2013-01' is parked after 1 failure in a row: ValueError: month 13."
PROGRAM = "python -m airflow_coordination"


def command(url):
    return f"{PROGRAM} reopen flights 2013-01 --partition-prefix east --store {url} --why '…'"


@pytest.mark.parametrize(("output", "load"), [("json", json.loads), ("yaml", yaml.safe_load)])
def test_a_program_reads_every_field(explain, url, output, load):
    code, out, err = explain("2013-01", "-o", output)
    assert (code, err) == (0, "")
    assert {row["field"]: row["value"] for row in load(out)} == {
        "key": "2013-01",
        "reason": "parked",
        "sentence": SENTENCE,
        "next": None,
        "command": command(url),
        "log": None,
    }


def test_plain_has_the_same_fields(explain, url):
    _, out, _ = explain("2013-01", "-o", "plain")
    fields = dict(line.split("\t") for line in out.splitlines())
    assert (fields["sentence"], fields["command"]) == (SENTENCE, command(url))


def test_the_command_stands_beside_the_table_on_one_line(explain, url):
    code, out, err = explain("2013-01")
    assert code == 0
    assert SENTENCE in out
    assert err == f"Type: {command(url)}\n"


@pytest.mark.parametrize("key", [HOSTILE, LONG])
@pytest.mark.parametrize("output", ["table", "plain"])
def test_a_hostile_or_long_key_is_said_harmlessly_and_can_be_typed(explain, url, capsys, key, output):
    _, out, err = explain(key, "-o", output)
    assert (out + err).replace("\n", "").replace("\t", "").isprintable()
    fields = dict(line.split("\t") for line in out.splitlines()) if output == "plain" else {}
    typed = fields.get("command") or err.strip().removeprefix("Type: ")
    assert main([*words(typed)[3:], "--dry-run"]) == 0
    assert "would reopen 1 of 1" in capsys.readouterr().err


def test_what_is_not_there_is_1_and_names_what_is(explain):
    code, out, err = explain("2013-03")
    assert code == 1
    assert "the nearest keys: '2013-01', '2013-02'" in out
    assert f"Type: {PROGRAM} explain flights 2013-02 --partition-prefix east" in err
    assert explain("2013-03", "-o", "json")[0] == 1


def test_a_key_that_nothing_can_have_is_an_error(explain):
    code, out, err = explain("x" * 2049)
    assert (code, out) == (1, "")
    assert "has 2049 bytes of UTF-8, the limit is 2048" in err


def test_airflow_s_command_line_has_it(url, capsys):
    from airflow.cli import cli_parser

    line = ["coordination", "explain", "flights", "2013-01", "--partition-prefix", "east", "--store", url]
    args = cli_parser.get_parser().parse_args([*line, "-o", "json"])
    args.func(args)
    assert SENTENCE in capsys.readouterr().out


def test_b2_the_command_that_is_printed_acts_on_the_store_that_was_asked(explain, url, tmp_path, capsys):
    """Another store has a source of the same name with the same parked key, and is the one that the variable names."""
    other = open_store(f"sqlite:///{tmp_path / 'other.db'}")
    other.setup()
    theirs = SourceCoordinator(other, "flights", "test", "east", max_failures=1)
    theirs.create_partitions(["2013-01"])
    theirs.fail(theirs.acquire_partition("2013-01"), "other store's error")
    capsys.readouterr()  # what the set-up may have logged
    typed = explain("2013-01")[2].strip().removeprefix("Type: ")
    assert main([*words(typed)[3:], "--yes"]) == 0
    assert theirs.partition("2013-01").parked
    ours = SourceCoordinator(open_store(url), "flights", "test", "east")
    assert not ours.partition("2013-01").parked
