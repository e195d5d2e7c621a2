"""Aggregates of the Kinesis Producer Library: what is one, what is damaged, and what it holds."""

from __future__ import annotations

import pytest

from airflow_coordination.streams import UserRecord, deaggregate
from airflow_coordination.values.input_errors import InvalidInputError
from tests.kpl import MAGIC, aggregate, number, octets, sealed

KEY = octets(1, b"a")
RECORD = octets(3, number(1, 0) + octets(3, b"payload"))


def taken_apart(data: bytes) -> list[UserRecord]:
    return list(deaggregate(data, "outer", "77"))


def test_records_come_in_order_with_their_own_keys():
    data = aggregate([("a", None, b"one"), ("b", "5", b"two"), ("a", "6", b"")])
    assert taken_apart(data) == [
        UserRecord(0, "a", None, b"one", True),
        UserRecord(1, "b", "5", b"two", True),
        UserRecord(2, "a", "6", b"", True),
    ]


def test_the_bytes_are_those_of_the_format():
    """Written down here, so that encoder and decoder cannot be wrong together."""
    message = bytes.fromhex("0a01611a0d08001a09") + b"flight-57"
    assert aggregate([("a", None, b"flight-57")]) == sealed(message)
    assert sealed(message)[-16:].hex() == "99fb627acc1888333db40121d5d9aadc"
    assert taken_apart(sealed(message)) == [UserRecord(0, "a", None, b"flight-57", True)]


def test_a_plain_record_keeps_the_keys_it_came_with():
    assert taken_apart(b"plain") == [UserRecord(0, "outer", "77", b"plain", False)]
    assert list(deaggregate(b"plain", "outer")) == [UserRecord(0, "outer", None, b"plain", False)]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        MAGIC,
        sealed(b""),
        sealed(KEY + RECORD)[:-1],
        sealed(KEY + RECORD)[:-1] + b"\x00",
        b"\x00" + sealed(KEY + RECORD)[1:],
        sealed(KEY + RECORD[:-1]),
        sealed(KEY + b"\x1a"),
        sealed(KEY + b"\x1a" + b"\xff" * 10),
        sealed(KEY + octets(3, number(1, 0))),
        sealed(KEY + octets(3, octets(3, b"payload"))),
        sealed(KEY + octets(3, octets(1, b"a") + octets(3, b"payload"))),
        sealed(KEY + octets(3, number(1, 0) + number(3, 7))),
        sealed(KEY + octets(3, number(1, 1) + octets(3, b"payload"))),
        sealed(KEY + octets(3, number(1, 0) + number(2, 0) + octets(3, b"payload"))),
        sealed(KEY + RECORD + number(0, 1)),
        sealed(KEY + RECORD + number(2**29, 1)),
        sealed(KEY + RECORD + b"\x23"),
    ],
    ids=[
        "nothing",
        "magic alone",
        "no message",
        "cut off",
        "another digest",
        "another magic",
        "a record cut off",
        "a size cut off",
        "a size without end",
        "no data",
        "no key",
        "a key of another kind",
        "data of another kind",
        "a key beyond the table",
        "a hash key beyond the table",
        "field zero",
        "a field beyond the last",
        "a group",
    ],
)
def test_what_is_damaged_is_one_plain_record(data):
    """Also where records before the damage could be read: a place inside of it must mean the same each time."""
    assert taken_apart(data) == [UserRecord(0, "outer", "77", data, False)]


def test_fields_of_a_later_format_are_skipped():
    tag = octets(4, octets(1, b"name"))
    later = number(9, 2**64 - 1) + octets(10, b"new") + b"\x59" + bytes(8) + b"\x5d" + bytes(4)
    record = octets(3, number(1, 0) + octets(3, b"payload") + tag)
    assert taken_apart(sealed(KEY + later + record)) == [UserRecord(0, "a", None, b"payload", True)]


def test_the_tables_may_come_last():
    assert taken_apart(sealed(RECORD + KEY)) == [UserRecord(0, "a", None, b"payload", True)]


def test_an_aggregate_of_nothing_holds_nothing():
    assert taken_apart(sealed(KEY)) == []


def test_a_key_that_is_no_unicode_does_not_hide_the_data():
    [record] = taken_apart(sealed(octets(1, b"\xff") + RECORD))
    assert (record.partition_key, record.data) == ("\N{REPLACEMENT CHARACTER}", b"payload")


def test_text_is_refused_with_the_remedy():
    with pytest.raises(InvalidInputError) as error:
        deaggregate("84mawg==", "outer")
    assert str(error.value) == "data='str': is not bytes. Give a record's Data as boto3 does; decode base64 first."


@pytest.mark.parametrize("table", [1, 2], ids=["partition keys", "hash keys"])
def test_source_s6_a_key_that_kinesis_has_not_makes_the_aggregate_a_damaged_one(table):
    """Named by each of 170,000 records, one long key would make 1 MiB as many times as large."""
    for length, damaged in ((256, False), (257, True)):
        record = octets(3, number(1, 0) + octets(3, b"payload"))
        data = sealed(KEY + octets(table, "ü".encode() * length) + record * 1_000)
        found = taken_apart(data)
        assert found == [UserRecord(0, "outer", "77", data, False)] if damaged else len(found) == 1_000
