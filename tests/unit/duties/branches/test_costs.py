"""What a change of what readers see costs: two statements, however many head records there are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from airflow_coordination.duties.branches.beginning import begin
from airflow_coordination.duties.branches.selection import Selection
from airflow_coordination.duties.branches.showing import finalize, publish, roll_back
from airflow_coordination.duties.retention.hiding import hide, restore
from airflow_coordination.outputs import published_manifests
from airflow_coordination.stores import open_store
from airflow_coordination.testing.crash import FaultyStore
from tests.backfills import Month
from tests.upkeep import DATASET, SOURCE

WHO = ("ana", "why")
JANUARY = "2013-01/P1M"
NEWS = ["look", "set_document"]


@pytest.fixture
def month(tmp_path: Path) -> Month:
    store = open_store(f"sqlite:///{tmp_path}/store.db")
    store.setup()
    return Month(FaultyStore(store), tmp_path)


def calls(month: Month, step: Callable[[], Any]) -> list[str]:
    """Return the calls to the store, each of which is one statement."""
    del month.store.calls[:]
    step()
    return list(month.store.calls)


def test_hiding_restoring_and_publishing_are_two_statements(month: Month) -> None:
    keys = month.filled(1, 2, 3)
    number = begin(month.c, Selection(keys=tuple(keys)), *WHO).number
    for key in keys:
        month.work(key, ["new"])
    assert calls(month, lambda: publish(month.c, number, *WHO)) == NEWS
    assert calls(month, lambda: hide(month.c, DATASET, JANUARY, *WHO)) == NEWS
    assert calls(month, lambda: restore(month.c, DATASET, JANUARY, *WHO)) == NEWS
    assert calls(month, lambda: finalize(month.c, number, *WHO)) == NEWS


def test_a_roll_back_is_two_statements_and_then_says_who_has_published_since(month: Month) -> None:
    keys = month.filled(1, 2)
    number = begin(month.c, Selection(keys=tuple(keys)), *WHO).number
    assert calls(month, lambda: roll_back(month.c, number, *WHO))[:2] == NEWS


def test_a_reader_reads_the_view_before_and_after(month: Month) -> None:
    month.filled(1, 2)
    found = calls(month, lambda: published_manifests(month.store, SOURCE, DATASET))
    assert found == ["document", "heads", "heads", "document"], "the view, overlays, head records, the view"
