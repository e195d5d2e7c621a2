"""Pages of what people did, made of lines of the audit."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_coordination.monitoring.deeds import Meant, Reach, deeds, newest, page
from airflow_coordination.stores.in_memory import InMemoryStore

START = datetime(2026, 11, 25, tzinfo=UTC)
SOURCE = "flights|PARTITION"


def lines(*marks: str | None, by: str = "ana") -> list[dict[str, Any]]:
    """Return lines of the audit, a second each, oldest first."""
    return [
        {
            "key": f"k{place:03}",
            "at": START + timedelta(seconds=place),
            "action": "park",
            "by": by,
            "why": "",
            "batch": mark,
            "place": str(place),
        }
        for place, mark in enumerate(marks)
    ]


def through(written: list[dict[str, Any]], read: int, limit: int) -> list[list[tuple[str, ...]]]:
    """Return which partitions each line of each page tells, as one goes through all pages."""
    pages, before = [], len(written)
    while True:
        some = written[max(0, before - read) : before]
        found, after = page(SOURCE, some, more=len(some) == read, limit=limit)
        pages.append([deed.keys for deed in found])
        if after is None:
            return pages
        assert int(after) < before, "a page goes on"
        before = int(after)


def test_what_the_lines_end_in_stands_on_the_next_page() -> None:
    written = lines(None, "a", "a", "a", None)
    assert through(written, 3, 9) == [[("k004",)], [("k001", "k002", "k003")], [("k000",)]]


def test_what_is_longer_than_the_lines_is_told_in_parts() -> None:
    assert through(lines(*5 * "a"), 3, 9) == [[("k002", "k003", "k004")], [("k000", "k001")]]


def test_a_page_ends_where_it_is_full() -> None:
    assert through(lines(None, "a", "a", None), 9, 2) == [[("k003",), ("k001", "k002")], [("k000",)]]


@given(st.lists(st.sampled_from([None, "a", "b"]), max_size=12), st.integers(1, 8), st.integers(1, 4))
def test_every_line_is_on_a_page(marks: list[str | None], read: int, limit: int) -> None:
    """Those of two people at once may be on two pages; none is left out, and without a mark each is there once."""
    written = lines(*marks)
    told = [keys for some in through(written, read, limit) for keys in some]
    assert {key for keys in told for key in keys} >= {line["key"] for line in written if not line["batch"]}
    single = [keys for keys in told if len(keys) == 1 and not written[int(keys[0][1:])]["batch"]]
    assert len(single) == len(set(single)) == marks.count(None)


def test_one_goes_back_to_a_time_and_no_further() -> None:
    written = lines(None, None, None)
    found, after = page(SOURCE, written, more=True, limit=9, meant=Meant(since=START + timedelta(seconds=2)))
    assert ([deed.keys for deed in found], after) == ([("k002",)], None)


def test_a_store_that_knows_no_places_has_one_page() -> None:
    written = [{name: value for name, value in line.items() if name != "place"} for line in lines(None, None)]
    assert page(SOURCE, written, more=True, limit=1)[1] is None


class Before(InMemoryStore):
    """A store from elsewhere, of before there were pages of the audit."""

    def audit(self, source: str, key: str | None, limit: int = 1000) -> Any:  # type: ignore[override]
        return lines(*limit * [None])


@pytest.mark.parametrize("limit", [1, 7])
def test_of_a_store_of_before_no_more_is_asked_than_it_knows(limit: int) -> None:
    store = Before()
    assert len(newest(store, SOURCE, limit)) == limit
    assert len(newest(store, SOURCE, limit, "3")) == limit
    assert len(deeds(SOURCE, newest(store, SOURCE, limit))) == limit


def test_a_page_has_what_is_meant_and_leads_on_past_what_is_not() -> None:
    written = [*lines("a", "a", None), *lines(None, by="bo")]
    found, after = page(SOURCE, written, more=True, limit=1, meant=Meant(by="ana"))
    assert ([deed.keys for deed in found], after) == ([("k002",)], "2")


MEANT = {
    "nothing is asked": (Meant(), 3),
    "who": (Meant(by="bo"), 1),
    "what": (Meant(action="park"), 3),
    "what nobody did": (Meant(action="reset"), 0),
    "many": (Meant(reach=Reach.MANY), 1),
    "one": (Meant(reach=Reach.ONE), 2),
    "the source": (Meant(reach=Reach.SOURCE), 0),
    "a key that is not named": (Meant(has="K006"), 1),
    "no key": (Meant(has="k9"), 0),
    "since": (Meant(since=START + timedelta(seconds=7)), 1),
    "who and what": (Meant(by="bo", reach=Reach.MANY), 0),
}


@pytest.mark.parametrize("case", MEANT)
def test_what_is_meant(case: str) -> None:
    meant, number = MEANT[case]
    found = deeds(SOURCE, [*lines(*7 * "a", None), *lines(None, by="bo")])
    assert len([each for each in found if meant.means(each)]) == number
