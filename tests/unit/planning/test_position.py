"""Initial positions: what goes with what, and that LATEST is one instant for good."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from airflow_coordination.streams import TRIM_HORIZON, Position, Start
from airflow_coordination.values.input_errors import InvalidInputError

NOON = datetime(2026, 11, 23, 12, tzinfo=UTC)


def test_latest_is_pinned_to_the_instant_of_the_listing():
    assert Position.latest(NOON) == Position(Start.LATEST, NOON)


@pytest.mark.parametrize(
    ("start", "since", "problem"),
    [
        (Start.LATEST, None, "does not go with LATEST"),
        (Start.AT_TIMESTAMP, None, "does not go with AT_TIMESTAMP"),
        (Start.TRIM_HORIZON, NOON, "does not go with TRIM_HORIZON"),
        (Start.AT_TIMESTAMP, NOON.replace(tzinfo=None), "has no time zone"),
    ],
)
def test_what_is_no_position_is_refused_by_name(start, since, problem):
    with pytest.raises(InvalidInputError, match=f"since=.*{problem}"):
        Position(start, since)


def test_descendants_begin_at_their_first_record_but_never_before_a_timestamp():
    at = Position.at_timestamp(NOON)
    assert [one.of_descendants for one in (TRIM_HORIZON, Position.latest(NOON), at)] == [TRIM_HORIZON, TRIM_HORIZON, at]
