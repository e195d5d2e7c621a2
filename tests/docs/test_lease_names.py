"""What pages and remedies call ``lease.…`` is there, also in lines that no test runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from airflow_coordination.follow_ups import CommitOffsets
from airflow_coordination.leases import InvalidInputError
from airflow_coordination.leases.lease import Lease
from airflow_coordination.spark.lease import PartitionLease
from tests.docs.pages import PAGES, ROOT

_NAMED = re.compile(r"(?<![\w./])lease\.([a-z_]+)")
_OF_A_COORDINATOR = (
    "docs/explanation",
    "docs/reference",
    "docs/how-to/act-on-partitions.md",
    "docs/how-to/keep-a-year.md",
    "docs/decisions",
)
"""Pages in which a lease may be what ``acquire_partition`` returns."""


def unknown(text: str, known: set[str]) -> set[str]:
    """Return what a page says that a lease has, and that it has not."""
    return {name for name in _NAMED.findall(text) if name not in known} - {"py"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_source_s7_a_job_s_lease_has_what_a_page_names(page: Path) -> None:
    known = {*dir(PartitionLease)}
    if str(page.relative_to(ROOT)).startswith(_OF_A_COORDINATOR):
        known |= {*dir(Lease)}
    assert unknown(page.read_text(), known) == set()


def test_source_s7_so_it_has_what_a_remedy_names() -> None:
    with pytest.raises(InvalidInputError) as refused:
        CommitOffsets("broker:9092", "g", {})
    assert _NAMED.findall(refused.value.remedy) == ["partition"]
