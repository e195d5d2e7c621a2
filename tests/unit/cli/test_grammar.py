"""One grammar, COMMAND SOURCE [KEY], on Airflow's command line and without it; ``--source`` for one version more."""

from functools import cache

import pytest
from airflow.cli import cli_parser

from airflow_coordination.cli.commands import COMMANDS, GROUPS
from airflow_coordination.cli.standalone import parser
from tests.unit.typed import words

ALL = [((command.name,), command) for command in COMMANDS]
ALL += [((group, command.name), command) for group, (_, those) in GROUPS.items() for command in those]


@cache
def of_airflow():
    return cli_parser.get_parser()


def read(program, typed):
    """Return the source, the keys and the other options that a program reads."""
    line = ["coordination", *typed] if program == "airflow" else typed
    args = vars((of_airflow() if program == "airflow" else parser()).parse_args(line))
    named = ("why", "error_like", "output", "yes", "number", "interval", "limit", "branch")
    return args["source"], args.get("key"), {name: args[name] for name in named if args.get(name)}


def test_the_source_comes_first_wherever_there_is_one():
    for name, command in ALL:
        positional = [option.flags[0] for option in command.options if not option.flags[0].startswith("-")]
        assert "source" not in positional[1:], name
        assert all(option.settings.get("action") in (None, "append", "store_true") for option in command.options), name


ORDERS = [
    "reopen flights a b --why w -y",
    "reopen --why w flights a b -y",
    "reopen flights --why w a b -y",
    "reopen flights a --why=w b -y",
    "reopen -y --wh w flights -- a b",
    "reopen a b --source flights --why w -y",
    "reopen --source flights a b --why w -y",
    "reopen a --source=flights --why w -y b",
    "reopen --sour flights --why w -y -- a b",
]


@pytest.mark.parametrize("program", ["airflow", "python"])
@pytest.mark.parametrize("line", ORDERS)
def test_words_are_read_in_any_order(program, line):
    assert read(program, line.split()) == (
        "flights",
        ["a", "b"],
        {"why": "w", "output": "table", "yes": True, "limit": 1000},
    )


@pytest.mark.parametrize("program", ["airflow", "python"])
@pytest.mark.parametrize(
    ("line", "source", "key"),
    [
        (["explain", "-o", "json", "--", "-s", "-k"], "-s", "-k"),
        (["explain", "--source", "flights", "-o", "json", "--", "-k"], "flights", "-k"),
        (["explain", "--source=-s", "-ojson", "k"], "-s", "k"),
        (["explain", "-o", "json", "--", "--source", "--why"], "--source", "--why"),
        (["explain", "source", "list", "-o", "json"], "source", "list"),
        (["explain", "flights", "-5", "-o", "json"], "flights", "-5"),
        (["explain", "flights", "- a b", "-o", "json"], "flights", "- a b"),
        (["explain", "", "", "-o", "json"], "", ""),
        (["accounting", "flights", "-o", "json", "k"], "flights", "k"),
        (["accounting", "k", "--source", "flights", "-o", "json"], "flights", "k"),
        (["accounting", "-o", "json", "--source", "flights"], "flights", None),
    ],
)
def test_names_that_look_like_options_or_commands_are_names(program, line, source, key):
    assert read(program, line) == (source, key, {"output": "json"})


def test_letters_may_stand_together():
    assert read("python", ["reset", "flights", "a", "--why", "w", "-yo", "json"])[2]["output"] == "json"
    assert read("airflow", ["branches", "publish", "--why", "w", "3", "--source", "flights"])[2]["number"] == 3


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (["explain", "k"], "the following arguments are required: KEY"),
        (["explain", "flights", "k", "other"], "unrecognized arguments: other"),
        (["explain", "flights", "k", "--source", "flights"], "unrecognized arguments: k"),
        (["explain", "k", "--source"], "the following arguments are required: KEY"),
        (["list", "--source", "--output", "json"], "the following arguments are required: SOURCE"),
        (["pause", "flights", "--whi", "w"], "required: --why"),
        (["list", "flights", "--status"], "expected one argument"),
        (["list", "--source", "a", "--source", "b"], "unrecognized arguments: b --source"),
    ],
)
def test_what_is_no_command_is_refused(line, told, capsys):
    with pytest.raises(SystemExit):
        parser().parse_args(line)
    assert told in capsys.readouterr().err


@pytest.mark.parametrize("program", ["airflow", "python"])
def test_the_old_form_prints_the_new_one_which_means_the_same(program, capsys):
    old = ["reopen", "a b", "--source", "my flights", "--why", "it's", "--error-like=x", "--", "--source"]
    meant = read(program, old)
    said = capsys.readouterr().err
    assert said.startswith("Deprecated: --source goes with version 0.3. Type instead: ")
    line = words(said.partition("Type instead: ")[2].strip())
    start = 2 if program == "airflow" else 3
    assert (
        line[:start]
        == {"airflow": ["airflow", "coordination"], "python": ["python", "-m", "airflow_coordination"]}[program]
    )
    assert read(program, line[start:]) == meant
    assert capsys.readouterr().err == ""


def test_the_new_form_shows_no_password(capsys):
    parser().parse_args(["list", "--source", "s", "--store", "postgresql://ana:hush@db/c"])
    assert "list s --store" in (said := capsys.readouterr().err)
    assert "hush" not in said


def test_where_a_command_is_about_something_else_source_stays_an_option(capsys):
    assert parser().parse_args(["iam", "worker", "--source", "flights"]).source == "flights"
    assert parser().parse_args(["duties", "run", "--source", "a", "--source", "b"]).source == ["a", "b"]
    assert capsys.readouterr().err == ""


def test_help_puts_commands_together(capsys):
    with pytest.raises(SystemExit):
        parser().parse_args(["--help"])
    said = capsys.readouterr().out
    places = [said.index(f"\n{title}:") for title in ("Look", "Act", "Sources", "Store and set-up", "Groups")]
    assert places == sorted(places)
    assert said.index("\n  explain ") < places[1] < said.index("\n  reopen ") < places[2]
    listed = {line.split()[0] for line in said.splitlines() if line.startswith("  ") and line.strip()}
    assert {name[0] for name, _ in ALL} <= listed
    [coordination] = [c for c in cli_parser.airflow_commands if c.name == "coordination"]
    assert "\nAct: release reopen" in coordination.description
