"""What of a dataset waits, is done, and is passed over: each head once."""

from __future__ import annotations

from airflow_coordination.planning.compaction.progress import Amount, progress
from airflow_coordination.planning.compaction.search import Dataset, search
from tests.unit.planning.compaction.made import config, head


def test_what_a_run_has_begun_counts_as_done():
    heads = [head(n, f"2026-01-0{n}/2026-01-0{n + 1}", n) for n in range(1, 5)]
    heads += [head("done", "2026-01-05/2026-01-06", 7, {"compression": "zstd"}), head("all", "eternity", 100)]
    found = search([Dataset(config(compression="zstd"), heads), Dataset(config("off", enabled=False), heads)])
    [(name, told)] = progress(found, found.groups[:1]).items()
    assert name == "clean"
    assert (told.awaiting, told.compacted, told.skipped) == (Amount(6, 3, 3), Amount(11, 2, 2), Amount(100, 1, 1))
    assert round(told.percent, 1) == 64.7
    assert progress(search([])) == {}


def test_of_nothing_everything_is_done():
    found = search([Dataset(config(), [head("all", "eternity")])])
    assert progress(found)["clean"].percent == 100
