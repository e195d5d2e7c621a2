"""The dynamic configuration: partial updates, what it refuses and how, and how two of them differ."""

from __future__ import annotations

import math
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_coordination.planning.duties.configuration import (
    KEYS,
    MEANINGLESS,
    NO_LIMIT,
    DynamicConfig,
    differences,
)
from airflow_coordination.planning.periods import parse_period, written
from airflow_coordination.values.input_errors import InvalidInputError, SettingsError

NAMES = st.lists(st.text("abc/_-", min_size=1, max_size=5), unique=True, max_size=4)
NUMBERS = st.integers(0, NO_LIMIT)
DURATIONS = st.timedeltas(timedelta(microseconds=1), timedelta(days=366)).map(written)
VALUES = {
    "millisToWaitBeforeDeleting": NUMBERS,
    "maxSegmentsToMove": NUMBERS,
    "balanceThreshold": st.floats(0, 100),
    "replicationThrottleLimit": NUMBERS,
    "decommissioningNodes": NAMES,
    "killDataSourceWhitelist": NAMES,
    "pauseCoordination": st.booleans(),
    "locationGrace": DURATIONS,
    "massLossPercent": st.floats(0, 100),
    "massLossHold": DURATIONS,
    "compactionTaskSlotRatio": st.floats(0, 1),
    "maxCompactionTaskSlots": NUMBERS,
}
SAID = st.fixed_dictionaries({}, optional=VALUES)
CHANGES = st.fixed_dictionaries({}, optional={key: st.none() | value for key, value in VALUES.items()})


def test_the_defaults_are_those_of_druid_and_of_the_page():
    assert DynamicConfig().to_json() == {
        "millisToWaitBeforeDeleting": 900_000,
        "maxSegmentsToMove": 5,
        "balanceThreshold": 3,
        "replicationThrottleLimit": 500,
        "decommissioningNodes": [],
        "killDataSourceWhitelist": [],
        "pauseCoordination": False,
        "locationGrace": "PT15M",
        "massLossPercent": 50,
        "massLossHold": "PT2M",
        "compactionTaskSlotRatio": 0.1,
        "maxCompactionTaskSlots": 2_147_483_647,
    }
    assert {name: key.default for name, key in KEYS.items()} == DynamicConfig().to_json()
    assert DynamicConfig().wait_before_deleting == timedelta(minutes=15)


@given(SAID)
def test_what_is_written_is_read(said):
    assert set(VALUES) == set(KEYS)
    config = DynamicConfig.from_json(said)
    assert DynamicConfig.from_json(config.to_json()) == config


@given(SAID, CHANGES)
def test_an_update_changes_what_it_names_and_null_is_the_default(said, changes):
    before = DynamicConfig.from_json(said)
    after = before.updated(changes).to_json()
    for key in KEYS:
        expected = before.to_json()[key] if key not in changes else changes[key]
        assert after[key] == (KEYS[key].default if expected is None else expected)


@given(CHANGES, CHANGES)
def test_updates_of_different_keys_can_be_made_in_any_order(one, other):
    other = {key: value for key, value in other.items() if key not in one}
    config = DynamicConfig()
    assert config.updated(one).updated(other) == config.updated(other).updated(one)


@given(st.timedeltas(timedelta(0), timedelta(days=9_999)))
def test_a_duration_is_written_as_it_is_read(duration):
    assert parse_period("period", written(duration)).rest == duration


def test_names_may_be_a_text_with_commas():
    """Druid: a whitelist is a list, or one text."""
    config = DynamicConfig.from_json({"decommissioningNodes": " hot1, hot2,,hot1 ", "killDataSourceWhitelist": ""})
    assert config.decommissioning_nodes == ("hot1", "hot2")
    assert config.kill_data_source_whitelist == ()


def test_what_may_be_deleted():
    assert DynamicConfig().may_delete_of("flights", "clean")
    config = DynamicConfig(kill_data_source_whitelist=("flights/clean", "raw"))
    asked = [("flights", "clean"), ("others", "clean"), ("others", "raw"), ("flights", "flights/clean")]
    assert [config.may_delete_of(*each) for each in asked] == [True, False, True, True]


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (
            {"maxSegmentToMove": 5},
            "config.maxSegmentToMove='maxSegmentToMove': is not an option here. Did you mean 'maxSegmentsToMove'?",
        ),
        (
            {"max_segments_to_move": 5},
            "config.max_segments_to_move=5: is the name in Python, not the one of the key. Write maxSegmentsToMove",
        ),
        (
            {"smartSegmentLoading": True, "debugDimensions": None},
            "config.smartSegmentLoading=True: means nothing here: every limit is what its key says, and none is "
            "replaced by a computed one. Leave it out, and so debugDimensions",
        ),
        (
            {"maxSegmentsToMove": "5"},
            "config.maxSegmentsToMove='5': is no whole number from 0 to 2147483647. Give one, without quotes",
        ),
        ({"maxSegmentsToMove": True}, "config.maxSegmentsToMove=True: is no whole number from 0 to 2147483647"),
        ({"maxSegmentsToMove": -1}, "config.maxSegmentsToMove=-1: is no whole number from 0 to 2147483647"),
        ({"maxSegmentsToMove": 2**31}, "config.maxSegmentsToMove=2147483648: is no whole number from 0 to 2147483647"),
        ({"millisToWaitBeforeDeleting": 1.5}, "config.millisToWaitBeforeDeleting=1.5: is no whole number from 0 to 31"),
        ({"balanceThreshold": math.nan}, "config.balanceThreshold=nan: is no number from 0 to 100"),
        ({"compactionTaskSlotRatio": 1.1}, "config.compactionTaskSlotRatio=1.1: is no number from 0 to 1. Give one"),
        ({"pauseCoordination": "true"}, "config.pauseCoordination='true': is neither true nor false. Write true or"),
        ({"pauseCoordination": 1}, "config.pauseCoordination=1: is neither true nor false"),
        ({"decommissioningNodes": [1]}, 'config.decommissioningNodes=[1]: is no list of names. Write such as ["one'),
        ({"decommissioningNodes": {"a": 1}}, "config.decommissioningNodes={'a': 1}: is no list of names"),
        ({"decommissioningNodes": [" "]}, "config.decommissioningNodes=[' ']: is no list of names"),
        ({"decommissioningNodes": "hot\x00"}, "config.decommissioningNodes='hot\\x00': holds NUL or a lone surrogate"),
        (
            {"decommissioningNodes": ["\ud800"]},
            "config.decommissioningNodes=['\\ud800']: holds NUL or a lone surrogate",
        ),
        ({"locationGrace": "15M"}, "config.locationGrace='15M': does not begin with P. Write P15M"),
        ({"locationGrace": "P1M"}, "config.locationGrace='P1M': has months or years, which are not all equally long"),
        ({"locationGrace": "-PT1M"}, "config.locationGrace='-PT1M': goes backwards. Write it without the sign, PT1M"),
        ({"locationGrace": "P400D"}, "config.locationGrace='P400D': is longer than a year. Give at most P366D"),
        ({"locationGrace": 900}, "config.locationGrace=900: is int, no text. Write a period"),
        ({"massLossHold": "PT0S"}, "config.massLossHold='PT0S': is zero. Give a period above zero"),
        ([], "config=[]: is no object. Write such as"),
    ],
)
def test_what_cannot_be_is_refused_with_what_to_write(said, message):
    with pytest.raises(InvalidInputError) as refused:
        DynamicConfig.from_json(said)
    assert str(refused.value).startswith(message)
    if isinstance(said, dict):
        with pytest.raises(InvalidInputError) as again:
            DynamicConfig().updated(said)
        assert str(again.value) == str(refused.value)


@pytest.mark.parametrize("key", MEANINGLESS)
def test_each_key_without_a_meaning_is_refused_with_its_reason(key):
    assert key not in KEYS
    with pytest.raises(SettingsError, match=r"means nothing here: [a-z].{20,}[^.]\. Leave it out$"):
        DynamicConfig().updated({key: 1})


def test_the_value_itself_is_checked_where_python_makes_one():
    with pytest.raises(SettingsError, match=r"config\.massLossPercent=101: is no number from 0 to 100"):
        DynamicConfig(mass_loss_percent=101)


def test_notes_say_what_surprises():
    assert DynamicConfig().notes == ()
    assert DynamicConfig(pause_coordination=True).notes == (
        "pauseCoordination is true: no duty does anything until it is false",
    )
    said = 'is 0: one group is still merged at a time, as in Druid; set "enabled": false in the compaction'
    assert said in DynamicConfig(max_compaction_task_slots=0).notes[0]
    assert DynamicConfig(compaction_task_slot_ratio=0).notes[0].startswith(f"compactionTaskSlotRatio {said}")
    assert DynamicConfig(mass_loss_percent=100).notes == (
        "massLossPercent is 100: no loss of workers ever holds a source back",
    )


def test_differences_are_said_in_words():
    before = DynamicConfig.from_json({"maxSegmentsToMove": 7, "locationGrace": "PT60M"})
    after = before.updated({"maxSegmentsToMove": None, "pauseCoordination": True, "locationGrace": "PT1H"})
    assert [str(each) for each in differences(before, after)] == [
        "maxSegmentsToMove from 7 to 5",
        "pauseCoordination from false to true",
    ]
    assert differences(after, after) == []
