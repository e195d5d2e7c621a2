"""Lines of CSV that are delivered, and the drain that does it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from airflow_coordination import Complete, SourceCoordinator, drain

SCHEMA = "id long, day int, dep_time int, carrier string, delay double"


def write_lines(spark: Any, place: str, rows: int, files: int) -> None:
    """Write them with their header; of each fifty one has no ``dep_time``."""
    columns = ("id", "id % 31 + 1 as day", "nullif(id % 50, 0) * 40 as dep_time", "concat('U', id % 4) as carrier")
    frame = spark.range(0, rows, 1, files).selectExpr(*columns, "round(rand(1) * 100, 3) as delay")
    frame.write.csv(place, header=True)


def write_small(folder: Path, files: int, lines: int) -> None:
    """Write small files with so many lines each; in some lines there is no ``dep_time``."""
    folder.mkdir()
    for number in range(files):
        row = (f"{number * lines + line},{line % 31},{line * 40 or ''},U{line % 4},1.5" for line in range(lines))
        (folder / f"{number:04}.csv").write_text("id,day,dep_time,carrier,delay\n" + "\n".join(row) + "\n")


def drain_whole(main: Callable[[Any, Any], Complete], of: SourceCoordinator, spark: Any, root: str, most: int) -> None:
    """Work partitions of a source, and look that all were completed."""
    done = drain(main, store=of.store, source=of.source, spark=spark, output_root=root, max_leases=most)
    assert done.completed == most, done.errors
