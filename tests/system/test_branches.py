"""A month replaced under a real scheduler, while late files come and a reader polls (promise S22)."""

from __future__ import annotations

import threading
from collections import Counter
from typing import Any

import pytest

from airflow_coordination.duties.branches.showing import roll_back
from airflow_coordination.stores import open_store
from tests.backfills import Month, Poller, parts
from tests.system.harness import wait_for

pytestmark = [pytest.mark.slow, pytest.mark.postgres, pytest.mark.timeout(600)]

DAYS = [f"2013-01-{day:02}" for day in range(1, 32)]
OLD = Counter(f"{day} old" for day in DAYS)
NEW = Counter(f"{day} new" for day in DAYS)
MOST_LATE = 200


class Ingest:
    """Publishes late files, one after the other, until it is told to stop; a task may be faster with one of them."""

    def __init__(self, month: Month) -> None:
        self._month, self._over = Month(open_store(month.store.reference), month.root), threading.Event()
        self.late: set[str] = set()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        for number in range(MOST_LATE):
            if self._over.is_set():
                return
            key = f"late {number:03}"
            self._month.create(key)
            self.late.add(key)
            if (lease := self._month.c.acquire_partition(key)) is not None:
                self._month.c.complete(lease, [self._month.counted(lease, [key])])
            self._over.wait(0.3)

    def __enter__(self) -> Ingest:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join(60)


def test_s22_a_month_is_replaced_under_a_real_scheduler(airflow: Any, store: Any, environ: dict[str, str]) -> None:
    """Done when: the old, then the new, late rows always exactly once; rolled back the old, but for what is newer."""
    month = Month(store, environ["AIRFLOW__COORDINATION__OUTPUT_ROOT"])
    month.filled(*range(1, 32))
    with Poller(month) as reader, Ingest(month) as ingest:
        wait_for(lambda: len(ingest.late) > 2, 60, "late files come")
        run_id = airflow.trigger("month_again")
        ended = wait_for(lambda: airflow.is_over("month_again", run_id), 300, "the month is replaced")
        assert ended == "success"
        after = len(ingest.late)
        wait_for(lambda: len(ingest.late) > after + 2, 60, "late files go on coming")

    found = [parts(each, ingest.late) for each in reader.seen]
    replaced = [each for each, _ in found]
    first_new = replaced.index(NEW)
    assert replaced == [OLD] * first_new + [NEW] * (len(replaced) - first_new)
    counts = [len(there) for _, there in found]
    assert counts == sorted(counts)
    assert 0 < counts[first_new - 1] < counts[-1], "late rows came before and after"

    told = wait_for(lambda: runs_of(airflow, "month_told"), 60, "who waits for the month is started")
    assert [run["run_type"] for run in told] == ["asset_triggered"]
    entry = f"/api/v2/dags/month_told/dagRuns/{told[0]['dag_run_id']}/taskInstances/report/xcomEntries/return_value"
    wait_for(lambda: airflow.is_over("month_told", told[0]["dag_run_id"]) == "success", 120, "it has looked")
    assert str(DAYS) in str(airflow.call("GET", entry)["value"])

    month.c.people.reset(DAYS[4], "ana", "late data")
    month.work(DAYS[4], ["since"], interval=f"{DAYS[4]}/P1D")
    with Poller(month) as reader:
        assert roll_back(month.c, 1, "ana", "wrong after all").kept == (DAYS[4],)
    since = Counter(["since"])
    assert [parts(each, ingest.late)[0] for each in reader.seen] == [
        NEW - Counter([f"{DAYS[4]} new"]) + since,
        OLD - Counter([f"{DAYS[4]} old"]) + since,
    ]


def runs_of(airflow: Any, dag_id: str) -> list[dict[str, Any]]:
    return list(airflow.call("GET", f"/api/v2/dags/{dag_id}/dagRuns?limit=100&order_by=run_after")["dag_runs"])
