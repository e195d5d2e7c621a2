"""The command line, with and without Airflow."""

import gc
import json
import os
from datetime import timedelta
from pathlib import Path

import pytest
import yaml

from airflow_coordination.cli.output import escape
from airflow_coordination.cli.standalone import main
from airflow_coordination.leases import Block, PartitionIdentifier, PartitionStatus
from tests.unit.cli.conftest import HOSTILE


def test_status_counts_every_source(flights, cli):
    flights.complete(flights.acquire_partition("2013-01"))
    code, out, _ = cli("status", "-o", "json")
    assert code == 0
    [row] = json.loads(out)
    assert (row["source"], row["completed"], row["unassigned"]) == ("flights", 1, 2)


def test_list_pages_by_key_and_status(flights, cli):
    flights.acquire_partition("2013-02")
    _, out, _ = cli("list", "flights", "--status", "ASSIGNED", "-o", "yaml")
    [row] = yaml.safe_load(out)
    assert (row["key"], row["status"], row["owner"]) == ("2013-02", "ASSIGNED", "test")
    _, out, _ = cli("list", "flights", "--after", "2013-01", "--limit", "1", "-o", "plain")
    assert [line.split("\t")[0] for line in out.splitlines()] == ["key", "2013-02"]


def test_a_list_is_narrowed_by_the_beginning_of_the_key(flights, cli):
    flights.create_partitions(["2014-01"])
    _, out, _ = cli("list", "flights", "--key-prefix", "2013", "-o", "json")
    assert [row["key"] for row in json.loads(out)] == ["2013-01", "2013-02"]


def test_a9_a_list_that_is_cut_says_so_and_how_to_go_on(flights, cli):
    """A9: it stopped at 100 without a word."""
    _, out, err = cli("list", "flights", "--limit", "2", "-o", "json")
    assert [row["key"] for row in json.loads(out)] == ["2013-01", "2013-02"]
    assert "There are more. These are the first 2; go on with --after=2013-02" in err
    _, out, err = cli("list", "flights", "--after=2013-02", "--limit", "1", "-o", "json")
    assert [row["key"] for row in json.loads(out)] == [HOSTILE]
    assert "There are more" not in err


def test_a9_parked_partitions_are_a_state_of_their_own(flights, cli):
    """A9: PARKED was printed and refused, and CLOSED held them without a word."""
    flights.fail(flights.acquire_partition("2013-01"), "no memory")
    flights.close(flights.acquire_partition("2013-02"), reopen_after=timedelta(hours=1))

    def keys(state):
        return [row["key"] for row in json.loads(cli("list", "flights", "--status", state, "-o", "json")[1])]

    assert (keys("PARKED"), keys("CLOSED"), keys("UNASSIGNED")) == (["2013-01"], ["2013-02"], [HOSTILE])
    [row] = json.loads(cli("status", "-o", "json")[1])
    assert (row["closed"], row["parked"], row["unassigned"]) == (1, 1, 1)


def test_a8_status_says_what_is_due_and_that_nobody_has_opened_it(flights, cli):
    """A8: ``next_due`` is empty once its time has come, and nothing else told."""
    flights.close(flights.acquire_partition("2013-01"), reopen_after=timedelta(0))
    flights.close(flights.acquire_partition("2013-02"), reopen_after=timedelta(hours=1))
    [row] = json.loads(cli("status", "-o", "json")[1])
    assert (row["overdue"], row["closed"], row["next_due"] is None) == (1, 2, False)
    flights.sweep()
    [row] = json.loads(cli("status", "-o", "json")[1])
    assert (row["overdue"], row["closed"]) == (0, 1)


def test_a9_a_list_says_what_comes_next_and_when(flights, cli):
    """A9: one column named ``until`` meant three things. A8: what is due and waits for a sweep is said."""
    flights.create_partitions(["2013-03", "2013-04", "2013-05", "2013-06"])
    flights.acquire_partition("2013-01")
    flights.fail(flights.acquire_partition("2013-02"), "no memory")
    flights.close(flights.acquire_partition("2013-03"), reopen_after=timedelta(hours=1))
    flights.close(flights.acquire_partition("2013-04"), reopen_after=timedelta(0))
    flights.complete(flights.acquire_partition("2013-05"))
    flights.give_up(flights.acquire_partition("2013-06"), retry_after=timedelta(hours=1))
    rows = {row["key"]: row for row in json.loads(cli("list", "flights", "-o", "json")[1])}
    assert {key: (row["next"], row["next_at"] is not None) for key, row in rows.items()} == {
        "2013-01": ("its lease ends", True),
        "2013-02": ("a person reopens it", False),
        "2013-03": ("it opens again", True),
        "2013-04": ("it is due: a sensor or an acquirer opens it", True),
        "2013-05": (None, False),
        "2013-06": ("it can be acquired", True),
        HOSTILE: ("it can be acquired", False),
    }
    told = {row["field"]: row["value"] for row in json.loads(cli("show", "flights", "2013-04", "-o", "json")[1])}
    assert told["next"] == "it is due: a sensor or an acquirer opens it"


def test_a9_a_dry_run_checks_what_the_action_would(flights, cli):
    """A9: ``reopen`` of a completed partition said that it would."""
    flights.complete(flights.acquire_partition("2013-01"))
    flights.fail(flights.acquire_partition("2013-02"), "no memory")
    argv = ("reopen", "flights", "2013-01", "2013-02", "--why", "again")
    code, _, err = cli(*argv, "--dry-run")
    assert code == 1
    assert (
        "Error: Cannot reopen partition '2013-01': it is COMPLETED; reopen needs CLOSED or UNASSIGNED. Use reset" in err
    )
    assert "Dry run: would reopen 1 of 2 partition(s) of source flights. Nothing was changed." in err
    code, _, really = cli(*argv, "--yes")
    assert code == 1
    assert err.splitlines()[0] == really.splitlines()[0]
    assert "Done: reopen 1 of 2 partition(s) of source flights." in really
    assert flights.partition("2013-02").status is PartitionStatus.UNASSIGNED


def test_a9_an_action_is_refused_for_what_changed_since_it_was_shown(flights, url, monkeypatch):
    """A9: what people confirm is what they saw."""
    flights.fail(flights.acquire_partition("2013-01"), "no memory")

    def confirmed(question, store):
        flights.people.reopen("2013-01", by="ana", why="first")
        flights.fail(flights.acquire_partition("2013-01"), "again")
        return True

    monkeypatch.setattr("airflow_coordination.cli.subcommands.acting.confirmed", confirmed)
    assert main(["reopen", "flights", "2013-01", "--why", "w", "--store", url]) == 1
    assert flights.partition("2013-01").parked


@pytest.mark.parametrize("output", ["table", "plain", "json", "yaml"])
def test_nothing_hostile_reaches_the_terminal(flights, cli, output):
    _, out, _ = cli("list", "flights", "-o", output)
    assert not set("\x1b\u202e") & set(out)
    assert "\\x1b" in out or "\\u001b" in out or "\\e" in out


def test_escape_leaves_ordinary_text_alone():
    assert escape("Müller 東京 – ok") == "Müller 東京 – ok"
    assert escape("a\nb\u2066") == "a\\nb\\u2066"


def test_show_tells_endings_and_peoples_actions(flights, cli):
    flights.fail(flights.acquire_partition("2013-01"), "no memory")
    assert cli("reopen", "flights", "2013-01", "--why", "more memory", "--by", "ana", "--yes")[0] == 0
    _, out, _ = cli("show", "flights", "2013-01", "-o", "json")
    told = {row["field"]: row["value"] for row in json.loads(out)}
    assert told["ending 1"].startswith("failed at ")
    assert "ana" in told["action"]
    assert "more memory" in told["action"]
    assert told["status"] == "UNASSIGNED"


def test_e11_show_tells_the_limit_that_is_in_force(flights, cli):
    """E11: the limit of lost leases is the one of the lease, which nobody could see."""
    flights.acquire_partition("2013-01")
    _, out, _ = cli("show", "flights", "2013-01", "-o", "json")
    told = {row["field"]: row["value"] for row in json.loads(out)}
    assert (str(told["lost_leases"]), str(told["max_lost_leases"])) == ("0", "5")


def test_a_dry_run_changes_nothing_and_says_how_many(flights, cli):
    flights.complete(flights.acquire_partition("2013-01"))
    code, out, err = cli("reset", "flights", "2013-01", "--why", "again", "--dry-run", "-o", "plain")
    assert code == 0
    assert "2013-01" in out
    assert "Dry run: would reset 1 of 1 partition(s) of source flights. Nothing was changed." in err
    assert flights.counts()[PartitionStatus.COMPLETED] == 1


def test_e16_retract_shows_what_it_takes_back(flights, cli):
    """E16: which datasets and how many rows, before anything is done."""
    lease = flights.acquire_partition("2013-01")
    flights.complete(lease, [Block("clean", "/b", "b1", rows=7), Block("rejected", "/r", "r1", rows=2)])
    flights.fail(flights.acquire_partition("2013-02"), "no memory")

    def run(*more):
        keys = ("2013-01", "2013-02")
        return cli("retract", "flights", *keys, "--why", "wrong", "-o", "json", *more)

    code, out, err = run("--dry-run")
    assert (code, [(row["datasets"], row["rows"]) for row in json.loads(out)]) == (
        0,
        [("clean, rejected", 9), (None, 0)],
    )
    assert "Dry run: would retract 2 of 2 partition(s) of source flights. Nothing was changed." in err
    assert [head.rows for head in flights.store.heads(lease.partition.source)] == [7, 2]
    code, _, err = run("-y", "--by", "ana")
    assert (code, "Done: retract 2 of 2 partition(s) of source flights." in err) == (0, True)
    assert [(head.rows, head.blocks) for head in flights.store.heads(lease.partition.source)] == [(0, ())] * 2
    assert [(row["datasets"], row["rows"]) for row in json.loads(run("--dry-run")[1])] == [(None, 0)] * 2
    [entry] = flights.store.audit(lease.partition.source, "2013-01")
    assert (entry["action"], entry["by"], entry["why"]) == ("retract", "ana", "wrong")


def test_reset_and_release(flights, cli):
    flights.complete(flights.acquire_partition("2013-01"))
    lease = flights.acquire_partition("2013-02")
    assert cli("reset", "flights", "2013-01", "--why", "again", "-y")[0] == 0
    assert cli("release", "flights", "2013-02", "--why", "stuck", "-y")[0] == 0
    assert flights.counts()[PartitionStatus.UNASSIGNED] == 3
    assert flights.partition("2013-02").ending_of(lease.fence).outcome == "released"


def test_without_a_terminal_nothing_is_done_unasked(flights, cli):
    code, _, err = cli("reset", "flights", "2013-01", "--why", "again")
    assert code == 1
    assert "--yes" in err
    assert flights.partition("2013-01").endings == ()


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["show", "flights", "nope"], "Partition 'nope' does not exist in source 'flights'."),
        (
            ["release", "flights", "2013-01", "--why", "w", "-y"],
            "UNASSIGNED; release needs ASSIGNED.",
        ),
    ],
)
def test_errors_are_plain_words_and_a_code(flights, cli, argv, message):
    code, _, err = cli(*argv)
    assert code == 1
    assert message in err


def test_a_store_must_be_named(monkeypatch, capsys):
    monkeypatch.delenv("COORDINATION_STORE", raising=False)
    assert main(["status"]) == 1
    assert "Give --store URL, or set COORDINATION_STORE" in capsys.readouterr().err


def test_migrate_creates_the_store(cli):
    code, _, err = cli("status")
    assert code == 1
    assert "store migrate" in err
    code, _, err = cli("store", "migrate")
    assert code == 0
    assert "is up to date" in err
    assert cli("status")[0] == 0


def test_airflows_command_line_has_the_same_commands(flights, url, capsys, monkeypatch):
    from airflow.cli import cli_parser

    monkeypatch.setenv("AIRFLOW_CONN_C", json.dumps({"conn_type": "coordination", "host": url}))
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", "spark://local")
    parser = cli_parser.get_parser()
    args = parser.parse_args(["coordination", "list", "flights", "--conn-id", "c", "-o", "json"])
    args.func(args)
    assert len(json.loads(capsys.readouterr().out)) == 3
    args = parser.parse_args(["coordination", "show", "flights", "nope", "--conn-id", "c"])
    with pytest.raises(SystemExit) as ended:
        args.func(args)
    assert ended.value.code == 1
    parser.parse_args(["coordination", "store", "migrate", "--store", url])
    args = parser.parse_args(["coordination", "doctor", "--conn-id", "c", "-o", "json"])
    args.func(args)
    assert json.loads(capsys.readouterr().out)[-1]["check"] == "clock"
    args = parser.parse_args(["coordination", "iam", "worker", *TABLE])
    args.func(args)
    assert json.loads(capsys.readouterr().out)["Version"] == "2012-10-17"


@pytest.mark.parametrize(("command", "more"), [("status", ()), ("list", ()), ("show", ("2013-01",))])
def test_an_unknown_source_names_its_nearest_neighbour(flights, cli, command, more):
    code, out, err = cli(command, "fligths", *more)
    assert (code, out) == (1, "")
    assert "source='fligths': is unknown to store" in err
    assert "Did you mean 'flights'?" in err


def doctors_rows(capsys, *argv):
    """Return the exit code and the rows by what was looked at."""
    code = main(["doctor", *argv, "-o", "json"])
    return code, {row["check"]: row for row in json.loads(capsys.readouterr().out)}


@pytest.mark.usefixtures("java")
def test_doctor_finds_a_store_well(flights, url, capsys):
    code, rows = doctors_rows(capsys, "--store", url)
    assert code == 0
    assert list(rows) == ["pyspark", "java", "provider", "store", "clock"]
    assert {row["verdict"] for row in rows.values()} == {"ok"}
    assert rows["store"]["found"] == f"{flights.store.store_id} at {url}; its schema fits this code"


@pytest.mark.parametrize(
    ("argv", "found", "remedy"),
    [
        ((), "--store=None: is missing", "Give --store URL, or set COORDINATION_STORE"),
        (("--store", "sqlite:////not/there/c.db"), "its directory /not/there does not exist", "Create it first"),
        (("--store", "ftp://host"), "is not the URL of a store", "Use sqlite:////path.db"),
        (("--store", "postgresql://127.0.0.1:1/c"), "could not be reached", "Check the address, the network"),
    ],
)
def test_doctor_says_what_is_wrong_with_the_store(capsys, monkeypatch, argv, found, remedy):
    monkeypatch.delenv("COORDINATION_STORE", raising=False)
    code, rows = doctors_rows(capsys, *argv)
    assert code == 1
    assert rows["store"]["verdict"] == "wrong"
    assert found in rows["store"]["found"]
    assert rows["store"]["remedy"].startswith(remedy)


def test_doctor_compares_the_clocks(capsys):
    from argparse import Namespace

    from airflow_coordination.cli.context import CommandContext
    from airflow_coordination.cli.doctor import doctor
    from airflow_coordination.stores.in_memory import InMemoryStore
    from airflow_coordination.testing.clock import FakeClock

    store = InMemoryStore(clock=FakeClock())
    assert (
        doctor(CommandContext(lambda: store), Namespace(output="json", role="worker", output_root=None, source=None))
        == 1
    )
    [clock] = [row for row in json.loads(capsys.readouterr().out) if row["check"] == "clock"]
    assert clock["verdict"] == "wrong"
    assert clock["found"].endswith("s ahead of the store")
    assert clock["remedy"].startswith("Set this host's clock")


def test_doctor_sees_pyspark_and_its_client_at_odds(capsys, monkeypatch):
    from airflow_coordination.systems.spark import session

    monkeypatch.setattr(session, "overwritten", lambda classic: ["pyspark/version.py"])
    code, rows = doctors_rows(capsys, "--store", "memory://")
    assert code == 1
    assert "which has overwritten 1 of its files, pyspark/version.py for one" in rows["pyspark"]["found"]
    assert rows["pyspark"]["remedy"].startswith("Install pyspark last: pip install --force-reinstall --no-deps")


TABLE = ("--table", "Flights", "--region", "eu-west-1", "--account", "123456789012")


@pytest.mark.parametrize("role", ["setup", "worker", "reader"])
def test_iam_prints_a_policy_for_the_table_named(capsys, monkeypatch, role):
    monkeypatch.delenv("COORDINATION_STORE", raising=False)
    assert main(["iam", role, *TABLE]) == 0
    policy = json.loads(capsys.readouterr().out)
    table = "arn:aws:dynamodb:eu-west-1:123456789012:table/Flights"
    assert {statement["Resource"] for statement in policy["Statement"]} <= {table, f"{table}/index/source-status"}
    assert policy["Statement"][0]["Effect"] == "Allow"


def test_iam_takes_what_is_not_named_from_the_store(capsys):
    role = "arn:aws-cn:iam::123456789012:role/Table"
    assert main(["iam", "worker", "--store", f"dynamodb://Flights?region=cn-north-1&sts_role_arn={role}"]) == 0
    [table, index] = [statement["Resource"] for statement in json.loads(capsys.readouterr().out)["Statement"]]
    assert table == "arn:aws-cn:dynamodb:cn-north-1:123456789012:table/Flights"
    assert index == f"{table}/index/source-status"


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ((*TABLE[:4], "--account", "12345"), "account='12345': is not the number of an AWS account."),
        ((*TABLE[:2], "--region", "mars", *TABLE[4:]), "region='mars': is no region of AWS. Write it like us-east-1"),
        (TABLE[:4], "--account=None: is missing, and there is no store to take it from. Give it, or a store"),
        ((*TABLE[2:], "--store", "memory://"), "--table=None: is missing, and in_memory (this process only) is no"),
        ((*TABLE[:4], "--store", "dynamodb://Flights"), "--account=None: is missing, and the store does not say it."),
    ],
)
def test_iam_says_what_it_does_not_know(capsys, monkeypatch, argv, message):
    monkeypatch.delenv("COORDINATION_STORE", raising=False)
    assert main(["iam", "worker", *argv]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert message in said.err


def test_iam_adds_what_is_needed_on_s3(capsys):
    assert main(["iam", "reader", *TABLE, "--output-root", "s3a://bucket/deep/out/"]) == 0
    [*_, bucket, objects] = json.loads(capsys.readouterr().out)["Statement"]
    assert (bucket["Resource"], objects["Resource"]) == ("arn:aws:s3:::bucket", "arn:aws:s3:::bucket/deep/out/*")
    assert main(["iam", "worker", *TABLE, "--output-root", "s3a://bucket"]) == 0
    assert json.loads(capsys.readouterr().out)["Statement"][-1]["Resource"] == "arn:aws:s3:::bucket/*"


@pytest.mark.parametrize(
    ("role", "root", "message"),
    [
        ("worker", "/data/out", "output_root='/data/out': is not on S3. Write it like s3a://bucket/flights"),
        ("setup", "s3://bucket", "output_root='s3://bucket': is nothing that setup touches. Use it with worker or"),
    ],
)
def test_iam_says_where_there_is_nothing_to_add(capsys, role, root, message):
    assert main(["iam", role, *TABLE, "--output-root", root]) == 1
    assert message in capsys.readouterr().err


def test_iam_asks_aws_for_the_account_when_told_to(moto_server, capsys, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", moto_server)
    assert main(["iam", "reader", *TABLE[:4], "--ask-account"]) == 0
    assert "arn:aws:dynamodb:eu-west-1:123456789012:table/Flights" in capsys.readouterr().out
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", "http://127.0.0.1:1")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    assert main(["iam", "reader", *TABLE[:4], "--ask-account"]) == 1
    assert "account=None: cannot be asked for: Could not connect" in capsys.readouterr().err


def test_iam_knows_the_roles_that_have_policies():
    from airflow_coordination.cli.subcommands.roles import ROLES
    from airflow_coordination.stores.dynamodb.setup.iam import Role

    assert list(Role) == list(ROLES)


def test_a_list_is_narrowed_by_error_and_owner(flights, cli):
    flights.fail(flights.acquire_partition("2013-01"), "OutOfMemory in stage 3")
    flights.acquire_partition("2013-02")
    for argv, key in ((("--error-like", "outofmemory"), "2013-01"), (("--owner-like", "TES"), "2013-02")):
        code, out, err = cli("list", "flights", *argv, "-o", "json")
        assert (code, [row["key"] for row in json.loads(out)], err) == (0, [key], "")
    code, _, err = cli("list", "flights", "--owner-like", "")
    assert (code, "--owner-like='': is empty" in err) == (1, True)


def test_what_waits_for_parents_is_a_state_of_its_own_and_finish_lets_it_start(flights, cli):
    flights.create_partitions([PartitionIdentifier("after", parents=["2013-01", "2013-02"])])
    code, out, _ = cli("status", "flights", "-o", "json")
    [row] = json.loads(out)
    assert (code, row["unassigned"], row["blocked"]) == (0, 3, 1)
    [found] = json.loads(cli("list", "flights", "--status", "BLOCKED", "-o", "json")[1])
    assert (found["key"], found["status"], found["next"]) == ("after", "BLOCKED", "2 parents of it must complete")
    shown = {row["field"]: row["value"] for row in json.loads(cli("show", "flights", "after", "-o", "json")[1])}
    assert (shown["parents"], shown["waits_for"]) == ("'2013-01', '2013-02'", "'2013-01', '2013-02'")
    flights.complete(flights.acquire_partition("2013-01"))
    code, out, err = cli("finish", "flights", "2013-02", "--why", "a test", "--yes", "-o", "json")
    assert (code, json.loads(out)[0]["children"], json.loads(out)[0]["named"]) == (0, 1, "'after'")
    assert "Done: finish 1 of 1 partition(s) of source flights." in err
    assert flights.partition("after").waits_for == ()


def test_a_command_gives_its_connections_back(flights, cli, tmp_path):
    """They would stay until Python happens to collect garbage; on DynamoDB what was counted would be lost."""
    flights.store.close()
    gc.disable()
    try:
        assert cli("list", "flights")[0] == 0
        assert cli("show", "flights", "nowhere")[0] == 1
        opened = [os.path.realpath(file) for file in Path("/proc/self/fd").iterdir()]
    finally:
        gc.enable()
    assert [name for name in opened if name.startswith(str(tmp_path))] == []
