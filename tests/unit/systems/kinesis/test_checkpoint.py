"""Checkpoints: the order of numbers, not of texts, and three forms that say the same."""

from __future__ import annotations

import json

import pytest

from airflow_coordination.streams import Checkpoint
from airflow_coordination.values.input_errors import InvalidInputError

LONG = "49" + "0" * 54


def test_places_are_in_the_order_of_their_numbers():
    """As text "10" comes before "9", and "99" after 56 digits that begin with 49."""
    places = [("0", 0), ("9", 3), ("10", 0), ("10", 2), ("10", 10), ("99", 0), (LONG, 0), (LONG, 1)]
    in_order = [Checkpoint(*place) for place in places]
    mixed = in_order[::2] + in_order[1::2]
    assert sorted(mixed) == in_order
    assert sorted(mixed, key=lambda one: one.padded) == in_order


def test_equal_places_are_one():
    assert Checkpoint(LONG) == Checkpoint(LONG, 0)
    assert len({Checkpoint("7"), Checkpoint("7", 0), Checkpoint("7", 1)}) == 2
    assert Checkpoint("7") <= Checkpoint("7")
    assert Checkpoint("7") != "7"


def test_a_place_is_not_compared_with_something_else():
    with pytest.raises(TypeError):
        _ = Checkpoint("7") < 8


def test_padded_text_has_one_length_and_comes_back():
    place = Checkpoint("7", 12)
    assert place.padded == "0" * 63 + "7" + ":" + "0" * 10 + "12"
    assert Checkpoint.from_padded(place.padded) == place
    assert Checkpoint.from_padded(Checkpoint("0").padded) == Checkpoint("0")


def test_json_is_a_list_of_two():
    place = Checkpoint(LONG, 3)
    assert json.dumps(place.to_json()) == f'["{LONG}", 3]'
    assert Checkpoint.from_json(json.loads(json.dumps(place.to_json()))) == place


@pytest.mark.parametrize(
    "sequence", ["", "TRIM_HORIZON", "-1", "007", "1.5", " 7", "7\n", "٧", "9" * 65, 7, None], ids=repr
)
def test_what_is_no_sequence_number_is_refused(sequence):
    with pytest.raises(InvalidInputError, match=r"^sequence=.*: is no decimal text of at most 64 digits"):
        Checkpoint(sequence)


@pytest.mark.parametrize("sub", [-1, 10**12, 1.0, "1", True, None], ids=repr)
def test_what_is_no_sub_sequence_number_is_refused(sub):
    with pytest.raises(InvalidInputError, match=r"^sub=.*: is no integer from 0 to 999999999999\. Give a user record"):
        Checkpoint("7", sub)


def test_the_messages_say_what_to_do():
    with pytest.raises(InvalidInputError) as error:
        Checkpoint("SHARD_END")
    assert str(error.value) == (
        "sequence='SHARD_END': is no decimal text of at most 64 digits without leading zeros. "
        "Give a record's SequenceNumber as Kinesis tells it, as text."
    )


@pytest.mark.parametrize("value", [None, "7", [], ["7"], ["7", 0, 0], {"sequence": "7", "sub": 0}], ids=repr)
def test_what_is_no_list_of_two_is_refused(value):
    with pytest.raises(InvalidInputError, match=r"is no list \[sequence, sub\]\. Give what Checkpoint\.to_json"):
        Checkpoint.from_json(value)


@pytest.mark.parametrize("value", [["7", "0"], [7, 0], ["7", None]], ids=repr)
def test_what_is_inside_of_the_list_is_looked_at(value):
    with pytest.raises(InvalidInputError, match=r"^(sequence|sub)="):
        Checkpoint.from_json(value)


@pytest.mark.parametrize(
    "text", ["", "7:0", None, "0" * 64 + ":" + "0" * 11, "0" * 64 + ":" + "0" * 12 + "\n"], ids=repr
)
def test_what_is_not_padded_is_refused(text):
    with pytest.raises(InvalidInputError, match=r"^padded=.*is not 64 digits, a colon and 12 digits"):
        Checkpoint.from_padded(text)
