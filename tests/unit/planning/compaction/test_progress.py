"""What of a dataset waits, is done, and is passed over: each head once."""

from __future__ import annotations

from airflow_coordination.planning.compaction.progress import Amount, of_totals, progress
from airflow_coordination.planning.compaction.search import Dataset, search
from airflow_coordination.protocol.beside.chunk_sums import ChunkState, ChunkTotals
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


def totals(state: str, chunks: int, size: int, **more: int) -> ChunkTotals:
    return ChunkTotals(dataset="clean", state=state, chunks=chunks, heads=10 * chunks, bytes_before=size, **more)


def test_what_is_kept_of_chunks_tells_the_same():
    kept = [
        totals(ChunkState.FRESH, 1, 100, uncovered_bytes=100),
        totals(ChunkState.PARTLY, 2, 400, uncovered_bytes=100, uncovered_heads=5),
        totals(ChunkState.MERGED, 3, 500),
        totals(ChunkState.LEFT_OUT, 4, 9_000, uncovered_bytes=9_000),
        ChunkTotals(dataset="other", state="of newer code", chunks=1, bytes_before=1),
    ]
    found = of_totals(kept)
    told = found["clean"]
    assert (told.awaiting, told.compacted) == (Amount(200, 3, 15), Amount(800, 3, 45))
    assert told.skipped == Amount(9_000, 4, 40)
    assert told.percent == 80
    assert found["other"].percent == 0
    assert of_totals([]) == {}
