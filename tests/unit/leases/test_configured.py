"""Settings, the hand-over to a driver, and hints."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from airflow_coordination.leases.handover import HandOver
from airflow_coordination.testing.conformance.creation import HOSTILE_KEYS
from airflow_coordination.values.errors import StoreMismatchError
from airflow_coordination.values.fence import Fence
from airflow_coordination.values.hints import Hint, decode_hint, encode_hint
from airflow_coordination.values.input_errors import InvalidInputError, InvalidKeyError, SettingsError
from airflow_coordination.values.settings import Settings, check_known

HAND_OVER = HandOver(
    source="flights",
    partition_prefix=None,
    key="caf\u00e9|{{ ds }}",
    fence=Fence(7, "3f9c"),
    owner="host/dag/run/task/3/1",
    settings=Settings(max_closed_count=2, no_progress_timeout=None, retry_delay=timedelta(milliseconds=1500)),
    store_id="store-a",
    output_root="s3://bucket/out",
    max_leases=3,
    max_runtime=12.5,
)


def test_the_defaults_are_those_of_the_protocol() -> None:
    settings = Settings()
    assert settings.ownership_timeout == timedelta(minutes=10)
    assert settings.renewal_interval == timedelta(minutes=1)
    assert (settings.max_failures, settings.max_lost_leases, settings.max_closed_count) == (5, 5, None)
    assert settings.no_progress_timeout == timedelta(minutes=60)


def test_the_retry_delay_doubles_up_to_an_hour() -> None:
    delays = [Settings().delay_after(failures).total_seconds() for failures in range(1, 10)]
    assert delays == [30, 60, 120, 240, 480, 960, 1920, 3600, 3600]
    assert Settings().delay_after(10_000) == timedelta(hours=1)


@pytest.mark.parametrize("name", ["max_failures", "max_lost_leases", "max_closed_count"])
@pytest.mark.parametrize("value", [0, -1, 1.5, "3", True])
def test_a_maximum_is_a_whole_number_above_zero(name: str, value: Any) -> None:
    with pytest.raises(SettingsError, match=r"is not a whole number above zero\. Give 1 or more") as refused:
        Settings(**{name: value})
    assert (refused.value.field, refused.value.value) == (name, value)


@pytest.mark.parametrize(
    "name",
    ["ownership_timeout", "max_retry_delay", "no_progress_timeout", "request_deadline", "acknowledgment_timeout"],
)
@pytest.mark.parametrize("value", [timedelta(0), timedelta(seconds=-1), 600])
def test_a_timer_is_a_duration_above_zero(name: str, value: Any) -> None:
    with pytest.raises(InvalidInputError) as refused:
        Settings(**{name: value})
    assert (refused.value.field, refused.value.value) == (name, value)


def test_a_delivery_that_was_not_positive_has_two_ways_out() -> None:
    with pytest.raises(SettingsError) as refused:
        Settings(on_negative="ignore")
    assert str(refused.value) == "on_negative='ignore': is no way to end a tenure. Give 'fail' or 'give up'"


def test_s13_a_delivery_that_was_not_positive_closes_nothing() -> None:
    """S13: the last close completes."""
    with pytest.raises(SettingsError) as refused:
        Settings(on_negative="close")
    assert str(refused.value) == (
        "on_negative='close': would complete the partition at max_closed_count, although records of it did not arrive. "
        "Give 'fail', which tries it again after retry_delay, or 'give up'"
    )


def test_a_driver_of_the_version_before_understands_a_hand_over_that_says_nothing_new() -> None:
    settings = json.loads(HAND_OVER.to_json())["settings"]
    assert not {"acknowledgment_timeout", "on_negative"} & settings.keys()
    told = replace(HAND_OVER, settings=Settings(acknowledgment_timeout=timedelta(minutes=5), on_negative="give up"))
    assert HandOver.from_json(told.to_json()) == told


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("partition_prefx", "Did you mean 'partition_prefix'?"),
        ("Store", "Did you mean 'store'?"),
        ("zzz", "Known are: partition_prefix, store."),
    ],
)
def test_an_unknown_option_names_its_nearest_neighbour(name: str, hint: str) -> None:
    with pytest.raises(SettingsError) as refused:
        check_known(["store", name], ["store", "partition_prefix"], "source_coordination")
    assert str(refused.value) == f"source_coordination.{name}='{name}': is not an option here. {hint}"


def test_a_hand_over_goes_there_and_back() -> None:
    text = HAND_OVER.to_json()
    assert text.isascii()
    assert HandOver.from_json(text) == HAND_OVER


def without(name: str) -> str:
    fields = json.loads(HAND_OVER.to_json())
    del fields[name]
    return json.dumps(fields)


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "1", "{}", without("settings"), without("fence"), without("key"), '{"settings": 1, "fence": 2}'],
    ids=lambda text: text[:20],
)
def test_what_is_no_hand_over_says_what_to_do(text: str) -> None:
    with pytest.raises(
        SettingsError, match=r"is no hand-over .*\. Submit through LeasedSparkSubmitOperator"
    ) as refused:
        HandOver.from_json(text)
    assert refused.value.field == "COORDINATION_HANDOVER"


@pytest.mark.parametrize("key", HOSTILE_KEYS, ids=ascii)
def test_x5_a_hint_carries_any_key_and_holds_nothing_that_is_interpreted(key: str) -> None:
    hint = encode_hint("store-a", key, 12)
    assert decode_hint(hint, "store-a") == Hint(key, 12)
    assert hint.isascii()
    assert not set(hint) & set("{}<>$`'\"\\ \n\r\t;&|/")


def test_s18_a_hint_of_another_store_names_both() -> None:
    with pytest.raises(StoreMismatchError, match=r"store-a.*store-b"):
        decode_hint(encode_hint("store-a", "k", 1), "store-b")


@pytest.mark.parametrize("text", ["2013-01", "hint:1:store-a:1:k:00000000", "hint:1", "hint:1:a:b:c:d:e", "a:b:c"])
def test_any_other_text_is_a_bare_key(text: str) -> None:
    assert decode_hint(text, "store-a") == Hint(text, None)


@pytest.mark.parametrize("text", ["", "\x00", "x" * 2049])
def test_what_cannot_be_a_key_either_is_refused(text: str) -> None:
    with pytest.raises(InvalidKeyError) as refused:
        decode_hint(text, "store-a")
    assert refused.value.field == "hint"
