"""X7: what a supplier cannot use is refused where it is given, by field, value and remedy; never by a raw error."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from airflow_coordination.sources import kafka_ranges, object_listing, sql_ranges, sqs_notifications
from airflow_coordination.values.input_errors import InvalidInputError

QUEUE = "https://sqs.eu-west-1.amazonaws.com/1/q"
NO_COUNT = "is not a whole number above zero. Give 1 or more"


@pytest.mark.parametrize("given", [None, "5", 1.5, True, 0])
def test_small_x7_a_number_that_is_none_is_refused(given: Any) -> None:
    made: dict[str, Any] = {"max_messages": lambda: sqs_notifications(QUEUE, max_messages=given)}
    if given is not None:  # which leaves these out
        made["rows"] = lambda: sql_ranges("sqlite://", "t", "c", rows=given)
        made["max_objects"] = lambda: object_listing("in", scan="once", max_objects=given)
    for field, make in made.items():
        with pytest.raises(InvalidInputError) as refused:
            make()
        assert str(refused.value) == f"{field}={given!r}: {NO_COUNT}"


@pytest.mark.parametrize(
    ("servers", "topic", "options", "said"),
    [
        (None, "t", {}, "servers=None: names no server. Write host:port, several with commas"),
        (5, "t", {}, "servers=5: names no server. "),
        ("s", 5, {}, "topic=5: is no name or list of different names. Give at least one name"),
        ("s", None, {}, "topic=None: is no name "),
        ("s", [5], {}, "topic=[5]: is no name "),
        ("s", [["t"]], {}, "topic=[['t']]: is no name "),
        ("s", "t", {"seconds": -1}, "seconds=-1: is no number of seconds from above zero to a day. Give how long"),
        ("s", "t", {"seconds": None}, "seconds=None: is no number of seconds "),
        ("s", "t", {"seconds": timedelta(seconds=1)}, "seconds=datetime.timedelta(seconds=1): is no number "),
    ],
)
def test_small_x7_what_is_no_place_of_kafka_is_refused(servers: Any, topic: Any, options: Any, said: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        kafka_ranges(servers, topic, **options)
    assert str(refused.value).startswith(said)
