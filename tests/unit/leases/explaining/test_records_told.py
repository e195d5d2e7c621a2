"""What became of records, in a few words."""

from __future__ import annotations

from datetime import UTC, datetime

from airflow_coordination.leases.explaining.wording import UNREADABLE, in_short, records_told
from airflow_coordination.protocol.past_tenure import PastTenure
from airflow_coordination.protocol.results import HeadRecord
from airflow_coordination.values.accounting import Accounting, Accounts
from airflow_coordination.values.status import Outcome, PartitionStatus


def tenure(text: str | None) -> PastTenure:
    """A tenure that has left these totals."""
    return PastTenure(
        source="s",
        key="k",
        token=1,
        nonce="n",
        ended_at=datetime(2013, 1, 1, tzinfo=UTC),
        outcome=Outcome.FAILED,
        op="op",
        status_after=PartitionStatus.UNASSIGNED,
        closed_count=0,
        accounting_text=text,
    )


def head(text: str | None, generation: str = "g", op: str = "op") -> HeadRecord:
    """A head record with a copy of these totals."""
    return HeadRecord("s", "clean", "k", (), 0, 0, generation, op, 1, accounting_text=text)


SOME = Accounting(read=1_003, delivered_everywhere=1_000, dropped={"a": 1, "b": 1}, dead_lettered=1)


def test_what_happened_to_none_is_left_out() -> None:
    assert in_short(SOME) == "1,003 read: 1,000 delivered everywhere, 2 dropped, 1 dead-lettered"
    assert in_short(Accounting(read=2, unrouted=1, failed=1)) == "2 read: 1 unrouted, 1 failed"
    assert in_short(Accounting()) == "0 read"


def test_nothing_delivered_says_nothing_and_what_is_corrupt_says_so() -> None:
    assert records_told(tenure(None)) is records_told(head(None)) is None
    assert records_told(tenure("{no json")) == records_told(head("{no json")) == UNREADABLE


def test_a_head_record_tells_only_totals_of_its_own_publication() -> None:
    of = lambda generation: Accounts(generation, over=False, accounting=SOME).text  # noqa: E731
    assert head(of("g")).accounting == SOME
    assert head(of("closed and over"), op="closed and over").accounting == SOME
    assert head(of("a generation before")).accounting is None  # older code has published anew, and left the copy
