"""A delivery that was not positive: sink, number, first error and remedy, however long they are."""

from __future__ import annotations

import pytest

from airflow_coordination.delivery.acknowledgment_set import NegativeAcknowledgmentError
from airflow_coordination.leases.explaining.reasons import explain
from airflow_coordination.leases.explaining.wording import told
from tests.unit.leases.explaining.values import HOUR, NOW, facts, partition, ring

REMEDY = "Mend the sink, or give dead_letters=… for records that it will never take"
SEARCH = "sink 'search' failed for 2 record(s), first: 400 mapping error"


def stored(*problems: str, key: str = "2013-01") -> str:
    error = NegativeAcknowledgmentError(key, problems)
    return f"{type(error).__name__}: {error}"


@pytest.mark.parametrize("status", ["UNASSIGNED", "CLOSED"])
def test_explain_names_sink_number_first_error_and_what_to_do(status: str) -> None:
    again = {"available_at": NOW + HOUR} if status == "UNASSIGNED" else {}
    found = partition(status, failures=1, last_error=stored(SEARCH), ring=ring("failed"), **again)
    said = explain(found, facts(), NOW).sentence
    assert said.endswith(f": not every record was delivered: {SEARCH}. {REMEDY}.")


def test_what_is_too_long_leaves_the_remedy() -> None:
    said = told(stored(f"{SEARCH} {'x' * 500}", "the rest", key="a\nvery long key" * 50), "")
    assert said.startswith(f"not every record was delivered: {SEARCH} xxx")
    assert said.endswith(f"x…. {REMEDY}")


@pytest.mark.parametrize("error", ["ValueError: month 13\nat line 3", "", None, "Not every record of it was there"])
def test_other_errors_are_told_by_their_first_line(error: str | None) -> None:
    assert told(error, "without an error") == ((error or "without an error").splitlines()[0])
