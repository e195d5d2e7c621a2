"""Which benchmarks there are. Each is imported when it runs: they need different libraries."""

from __future__ import annotations

from importlib import import_module

from benchmarks.harness.run import Benchmark

MODULES = {
    "felt": "benchmarks.spark.felt",
    "postgresql": "benchmarks.postgresql.cycle",
    "new-process": "benchmarks.postgresql.new_process",
    "fused": "benchmarks.postgresql.fused",
    "depth": "benchmarks.postgresql.depth",
    "sqlite": "benchmarks.sqlite.cycle",
    "history": "benchmarks.postgresql.history",
    "plugin": "benchmarks.plugin",
    "views": "benchmarks.postgresql.views",
    "growth": "benchmarks.growth",
    "overhead": "benchmarks.spark.overhead",
    "completed": "benchmarks.spark.completed",
    "delivery": "benchmarks.spark.delivery",
    "compaction": "benchmarks.compaction.beside",
    "planning": "benchmarks.compaction.planning",
    "before": "benchmarks.before",
    "dynamodb": "benchmarks.dynamodb.contention",
}


def load(name: str) -> Benchmark:
    """Return a benchmark by its name."""
    found: Benchmark = import_module(MODULES[name]).benchmark
    return found
