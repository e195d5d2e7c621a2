"""Eight workers on DynamoDB Local: killed, stopped past their leases, and requests that a proxy drops or repeats."""

from __future__ import annotations

import os

import pytest

from tests.processes.on_dynamodb import DynamoDBSetup
from tests.processes.run import run
from tests.share import seconds_under_faults

pytestmark = [pytest.mark.dynamodb, pytest.mark.slow, pytest.mark.timed]

SECONDS = seconds_under_faults(20)
SEED = int(os.environ.get("COORDINATION_SEED", "1"))


def test_s5_eight_workers_on_dynamodb_break_no_promise_under_real_faults() -> None:
    report = run("dynamodb", SECONDS, SEED)
    print(report)
    assert report.violations == [], f"see it again: python -m tests.processes --store dynamodb --seed {SEED}"
    assert report.lacking == []
    assert set(report.faults) == set(DynamoDBSetup.rates)
