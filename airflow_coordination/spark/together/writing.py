"""The one Spark job that writes the rows of many partitions, each one's into a directory of its own.

Directories are named by digests of keys, which Spark and Python both know without being told: no key becomes a path,
and no row is looked up in a list. What the job has seen of rows, and what the footers of its files hold, must agree.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final

from airflow_coordination.outputs.layout import is_data
from airflow_coordination.outputs.parquet import read_footer
from airflow_coordination.spark.file_scans import quoted
from airflow_coordination.systems.objects.storage import OutputError, StoredFile, delete, join, list_files, side_by_side
from airflow_coordination.values.input_errors import InvalidInputError

log = logging.getLogger(__name__)

COLUMN: Final = "_lease"
DIGITS: Final = 24
"""96 bits of a SHA-256, as in the names of partitions' directories."""
_ROWS: Final = "rows"


@dataclass(frozen=True, slots=True)
class Written:
    """What the job has written.

    :param place: its directory.
    :param digests: of the keys, by key.
    :param found: its data files, by digest.
    :param keyed: the rows that were written, with the digest in ``column``.
    :param column: its name.
    :param seen: how many rows the job has seen, ``None`` where Spark has not said it.
    """

    place: str
    digests: Mapping[str, str]
    found: Mapping[str, list[StoredFile]]
    keyed: Any
    column: str
    seen: int | None

    def directory(self, key: str) -> str | None:
        """Return the directory of one partition's files, ``None`` where it has no row."""
        found = self.digests[key]
        return join(self.place, f"{self.column}={found}") if found in self.found else None

    def counted_otherwise(self, rows: Mapping[str, int]) -> dict[str, int]:
        """Return whose files do not hold what was read, with the number that was.

        What the job has seen is compared first. Only where that is another number, or none, Spark counts once more.

        :param rows: the rows in the files of each that was taken, by key.
        """
        others = [file for key in self.digests.keys() - rows.keys() for file in self.found.get(self.digests[key], [])]
        left = sum(side_by_side(self._rows_in, others))
        if self.seen == sum(rows.values()) + left:
            return {}
        held = sum(rows.values()) + left
        log.warning("A job has seen %s rows, and its files hold %s: counted again", self.seen, held)
        counts = {row[0]: row[1] for row in self.keyed.groupBy(self.column).count().collect()}
        read = {key: counts.get(self.digests[key], 0) for key in rows}
        return {key: read[key] for key in rows if rows[key] != read[key]}

    def _rows_in(self, file: StoredFile) -> int:
        address = join(self.place, file.path)
        try:
            return read_footer(address, file.size).rows
        except FileNotFoundError:  # it was moved into a block that was refused afterwards
            return 0


@contextmanager
def written(rows: Any, by: Any, keys: Sequence[str], place: str) -> Iterator[Written]:
    """Write rows below a directory, which is deleted afterwards with what is left in it.

    :param rows: a DataFrame.
    :param by: the column that says whose a row is, by its name or as an expression.
    :param keys: of the partitions whose rows there may be.
    :param place: a directory that is not there yet.
    :raises InvalidInputError: when there is no such column, or a row of none of them.
    """
    from pyspark.sql import Observation
    from pyspark.sql import functions as fn

    column, whose = _free(rows.columns), _column(rows, by).cast("string")
    keyed = rows.withColumn(column, fn.substring(fn.sha2(whose, 256), 1, DIGITS))
    seen = Observation()
    try:
        watched = keyed.observe(seen, fn.count(fn.lit(1)).alias(_ROWS))
        watched.write.partitionBy(column).parquet(place)
        digests = {key: digest(key) for key in keys}
        found = _by_digest(place)
        if strange := sorted(found.keys() - set(digests.values())):
            raise _of_nobody(rows, whose, digests, len(strange))
        yield Written(place, digests, found, keyed, column, seen.get.get(_ROWS))
    finally:
        with suppress(OutputError):  # the collector finds it
            delete(place)


def digest(key: str) -> str:
    """Return what a partition's directory is called below the place of a job."""
    return hashlib.sha256(key.encode()).hexdigest()[:DIGITS]


def _column(rows: Any, by: Any) -> Any:
    from pyspark.sql import functions as fn

    if not isinstance(by, str):
        if not callable(getattr(by, "cast", None)):
            raise InvalidInputError("by", by, "is no column", "Give a column's name, or an expression of pyspark's")
        return by
    if by.lower() not in map(str.lower, rows.columns):
        known = ", ".join(map(repr, rows.columns))
        raise InvalidInputError("by", by, "is no column of these rows", f"Give one of {known}, or an expression")
    return fn.col(quoted(by))


def _free(columns: Sequence[str]) -> str:
    """Return a name that no column has."""
    taken, name = {each.lower() for each in columns}, COLUMN
    while name in taken:
        name += "_"
    return name


def _by_digest(place: str) -> dict[str, list[StoredFile]]:
    found: dict[str, list[StoredFile]] = {}
    for file in list_files(place):
        directory, _, name = file.path.partition("/")
        if name and is_data(file.path):
            found.setdefault(directory.partition("=")[2], []).append(file)
    return found


def _of_nobody(rows: Any, whose: Any, digests: Mapping[str, str], number: int) -> InvalidInputError:
    """Return the error for rows of other partitions; Spark is asked for one of the values."""
    from pyspark.sql import functions as fn

    known = fn.coalesce(whose.isin(*digests), fn.lit(False))
    strange = rows.where(~known).select(whose.alias(COLUMN)).first()
    value = None if strange is None else strange[0]
    more = "" if number < 2 else f", and so are {number - 1} more values"
    remedy = "Leave such rows out, or read only what belongs to these partitions; nothing was published"
    problem = f"is the key of none of the {len(digests)} partitions of this call{more}"
    return InvalidInputError("by", value, problem, remedy)
