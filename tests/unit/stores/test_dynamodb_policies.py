"""B7: policies are data, whatever is filled in, and can be narrowed to one source."""

import json

import pytest

from airflow_coordination.cli.standalone import main
from airflow_coordination.leases import SettingsError
from airflow_coordination.stores.dynamodb.setup.iam import Role, TableAddress, policy

ADDRESS = TableAddress("Flights", "eu-west-1", "123456789012")
WORKER = ["iam", "worker", "--region", "eu-west-1", "--account", "123456789012"]
CRAFTED = 'x"},{"Effect":"Allow","Action":"dynamodb:*","Resource":"*","Sid":"a'


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("table", CRAFTED),
        ("table", "*"),
        ("table", "Flights/index/*"),
        ("table", "${aws:username}"),
        ("region", "us-east-1\n"),
        ("region", "*"),
        ("account", "12345678901२"),
        ("account", "*"),
    ],
)
def test_b7_what_is_filled_in_is_checked(argument, value):
    """B7: each argument, before anything is printed."""
    given = {"table": "Flights", "region": "eu-west-1", "account": "123456789012"} | {argument: value}
    with pytest.raises(SettingsError) as refused:
        TableAddress(**given)
    assert str(refused.value).startswith(f"{argument}={value!a}"[:60])


def test_b7_a_crafted_table_prints_nothing(capsys):
    """B7: as it was seen, with a table that closed the text it was put into."""
    assert main([*WORKER, "--table", CRAFTED]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert "is no table name of 3 to 255 letters, digits, - _ .. Write the table's name, not its ARN" in said.err


def test_b7_a_crafted_output_root_stays_inside_its_text():
    """B7: quotes may stand in a prefix, and change nothing around it."""
    root = 's3a://bucket/x"],"Action":["s3:'
    statements = policy(Role.WORKER, ADDRESS, root)["Statement"]
    assert [statement["Action"] for statement in statements] == [
        statement["Action"] for statement in policy(Role.WORKER, ADDRESS, "s3a://bucket/x")["Statement"]
    ]
    assert statements[-1]["Resource"] == 'arn:aws:s3:::bucket/x"],"Action":["s3:/*'


def test_b7_a_policy_for_one_source_has_its_keys_and_no_others(capsys):
    """B7: every statement on the table and its index is under a condition on the leading keys."""
    assert main([*WORKER, "--table", "Flights", "--source", "${aws:username}", "--partition-prefix", "a|b"]) == 0
    statements = json.loads(capsys.readouterr().out)["Statement"]
    *statements, copies = statements
    assert copies["Condition"] == {
        "ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["a%7Cb|~copies/${$}{aws:username}|*"]}
    }
    keys = [s["Condition"]["ForAllValues:StringEquals"]["dynamodb:LeadingKeys"] for s in statements]
    source = "a%7Cb|${$}{aws:username}"
    kinds = ("PARTITION", "GLOBAL_STATE", "WORKER", "PARTITION|HEADS")
    assert keys[0][:4] == [f"{source}|{kind}" for kind in kinds]
    everybodys = ["a%7Cb|~all|PARTITION|LARGE"]
    assert keys[1:4] == [["airflow_coordination|STORE"], everybodys, ["airflow_coordination|SOURCES"]]
    standings = ("UNASSIGNED", "ASSIGNED", "CLOSED", "COMPLETED", "BLOCKED", "HISTORY")
    merged, duties = "a%7Cb|~merged/${$}{aws:username}", "a%7Cb|~duties"
    assert keys[4] == [f"{each}|PARTITION|{standing}" for each in (source, merged, duties) for standing in standings]
    assert {f"{source}|PARTITION|HISTORY", f"{merged}|PARTITION|HEADS", f"{duties}|PARTITION"} < {*keys[0]}
    assert all(key.startswith((f"{source}|", f"{merged}|", f"{duties}|")) for key in keys[0])
    worker = policy(Role.WORKER, ADDRESS, source="flights")["Statement"]
    [listing] = [each for each in worker if each["Sid"] == "ListSources"]
    assert listing["Action"] == ["dynamodb:Query"]  # X4: the board asks the list whose a source is
    reader = policy(Role.READER, ADDRESS, source="flights")["Statement"]
    assert not {"dynamodb:PutItem", "dynamodb:UpdateItem"} & {a for statement in reader for a in statement["Action"]}


def leading_keys(role: Role, source: str) -> set[str]:
    statements = policy(role, ADDRESS, source=source)["Statement"]
    return {key for each in statements for keys in each["Condition"].values() for key in keys["dynamodb:LeadingKeys"]}


def test_b7_copies_of_one_source_are_under_a_pattern_that_no_other_source_fits():
    """B7: a name with what would stand for others is taken by the letter, and the name ends where the pattern does."""
    assert "~copies/flights|*" in leading_keys(Role.WORKER, "flights")
    assert "~copies/flights|*" in leading_keys(Role.READER, "flights")
    assert "~copies/${*}${?}|*" in leading_keys(Role.WORKER, "*?")
    [statement] = [each for each in policy(Role.READER, ADDRESS, source="f")["Statement"] if each["Sid"] == "Copies"]
    assert [each.rpartition("/")[2] for each in statement["Resource"]] == ["Flights", "source-status"]
    assert not {"dynamodb:PutItem", "dynamodb:UpdateItem"} & {*statement["Action"]}


def test_b7_readers_read_what_was_merged_and_have_no_business_among_the_duties():
    """B7: those are of all sources, under one key; who plans a source's compaction works on them."""
    assert {"~merged/flights|PARTITION|HEADS", "~merged/flights|PARTITION|ASSIGNED"} < leading_keys(
        Role.READER, "flights"
    )
    assert not [key for key in leading_keys(Role.READER, "flights") if key.startswith("~duties")]
    assert "~duties|PARTITION" in leading_keys(Role.WORKER, "flights")


@pytest.mark.parametrize("source", ["s" * 238, "s" * 242, "~merged/flights", "~duties"])
def test_b7_of_what_cannot_be_merged_there_are_its_own_keys_only(source):
    """B7: nothing is merged of a source with too long a name, nor of what is kept beside others."""
    for role in (Role.WORKER, Role.READER):
        others = {key for key in leading_keys(role, source) if not key.startswith(f"{source}|")}
        assert others == {"airflow_coordination|STORE", "airflow_coordination|SOURCES", "~all|PARTITION|LARGE"}


@pytest.mark.parametrize(("length", "limit"), [(50, 6_144), (130, 10_240)])
def test_b7_a_narrowed_policy_is_as_large_as_aws_takes(length, limit):
    """B7: without white space, as AWS counts: a managed policy, and all that is inline in a role."""
    document = policy(Role.WORKER, ADDRESS, source="s" * length)
    assert len(json.dumps(document, separators=(",", ":"))) <= limit


def test_b7_setup_is_for_the_whole_table():
    """B7: it cannot be narrowed."""
    with pytest.raises(SettingsError, match="is nothing that setup is narrowed to"):
        policy(Role.SETUP, ADDRESS, source="flights")
