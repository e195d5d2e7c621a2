"""The page on timeouts says the defaults that the code has."""

from __future__ import annotations

from datetime import timedelta

import pytest

from airflow_coordination.hooks.retries import SOON
from airflow_coordination.stores.sql.postgres import STATEMENT_SECONDS
from airflow_coordination.values.settings import RENEWALS_PER_LEASE, SWEEP_INTERVAL, Settings
from scripts.docs_generate import shown
from tests.docs.pages import ROOT

PAGE = " ".join((ROOT / "docs/how-to/timeouts.md").read_text().split())
DEFAULTS = Settings()


@pytest.mark.parametrize("name", ["ownership_timeout", "request_deadline", "no_progress_timeout"])
def test_a_default_is_said_in_the_text_and_in_the_table(name):
    value = shown(getattr(DEFAULTS, name))
    assert f"`{name}` ({value})" in PAGE
    assert f"| `{name}` | {value} |" in PAGE


def test_what_else_has_a_number():
    assert f"`retry_delay` of the source ({shown(DEFAULTS.retry_delay)}, doubled" in PAGE
    assert f"{shown(DEFAULTS.max_retry_delay)} at most" in PAGE
    assert f"`sweep_interval` ({shown(SWEEP_INTERVAL)})" in PAGE
    assert f"(`statement_timeout` on PostgreSQL) | {shown(timedelta(seconds=STATEMENT_SECONDS))} |" in PAGE
    assert DEFAULTS.max_failures == DEFAULTS.max_lost_leases == 5
    assert "`max_failures` and `max_lost_leases` (5 each, in a row)" in PAGE
    assert timedelta(seconds=15) == SOON
    assert "tried again 15 seconds later" in PAGE
    assert RENEWALS_PER_LEASE == 10
    assert "renewed ten times as often" in PAGE
