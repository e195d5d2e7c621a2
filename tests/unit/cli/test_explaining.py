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
        code = main(["explain", "--source", "flights", "--partition-prefix", "east", *argv, "--store", url, "--", key])
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


SENTENCE = "Partition '2013-01' is parked after 1 failure in a row: ValueError: month 13."
COMMAND = "airflow coordination reopen 2013-01 --source flights --partition-prefix east --why '…'"


@pytest.mark.parametrize(("output", "load"), [("json", json.loads), ("yaml", yaml.safe_load)])
def test_a_program_reads_every_field(explain, output, load):
    code, out, err = explain("2013-01", "-o", output)
    assert (code, err) == (0, "")
    assert {row["field"]: row["value"] for row in load(out)} == {
        "key": "2013-01",
        "reason": "parked",
        "sentence": SENTENCE,
        "next": None,
        "command": COMMAND,
        "log": None,
    }


def test_plain_has_the_same_fields(explain):
    _, out, _ = explain("2013-01", "-o", "plain")
    fields = dict(line.split("\t") for line in out.splitlines())
    assert (fields["sentence"], fields["command"]) == (SENTENCE, COMMAND)


def test_the_command_stands_beside_the_table_on_one_line(explain):
    code, out, err = explain("2013-01")
    assert code == 0
    assert SENTENCE in out
    assert err == f"Type: {COMMAND}\n"


@pytest.mark.parametrize("key", [HOSTILE, LONG])
@pytest.mark.parametrize("output", ["table", "plain"])
def test_a_hostile_or_long_key_is_said_harmlessly_and_can_be_typed(explain, url, capsys, key, output):
    _, out, err = explain(key, "-o", output)
    assert (out + err).replace("\n", "").replace("\t", "").isprintable()
    fields = dict(line.split("\t") for line in out.splitlines()) if output == "plain" else {}
    typed = fields.get("command") or err.strip().removeprefix("Type: ")
    assert main([*words(typed)[2:], "--dry-run", "--store", url]) == 0
    assert "would reopen 1 of 1" in capsys.readouterr().err


def test_what_is_not_there_is_1_and_names_what_is(explain):
    code, out, err = explain("2013-03")
    assert code == 1
    assert "the nearest keys: '2013-01', '2013-02'" in out
    assert "Type: airflow coordination explain 2013-02 --source flights --partition-prefix east" in err
    assert explain("2013-03", "-o", "json")[0] == 1


def test_a_key_that_nothing_can_have_is_an_error(explain):
    code, out, err = explain("x" * 2049)
    assert (code, out) == (1, "")
    assert "has 2049 bytes of UTF-8, the limit is 2048" in err


def test_airflow_s_command_line_has_it(url, capsys):
    from airflow.cli import cli_parser

    line = ["coordination", "explain", "2013-01", "--source", "flights", "--partition-prefix", "east", "--store", url]
    args = cli_parser.get_parser().parse_args([*line, "-o", "json"])
    args.func(args)
    assert SENTENCE in capsys.readouterr().out
