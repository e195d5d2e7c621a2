"""Delta and Iceberg as their users run them: SQL tables in one Spark, compacted by their own commands.

Each table holds the whole month without partitions of its own: where a folder were made for each of the 186, neither of
them would merge anything across them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.shuffle.partitions": "2",
    "spark.log.level": "ERROR",
}
_LATER = "gained"
"""The column that only some partitions have."""


class Tables:
    """What both have in common.

    :param month: folder with a directory for each partition.
    :param folder: where tables go.
    :param jars: folder of the system's jars.
    :param settings: of its session, beside the common ones.
    """

    def __init__(self, month: str, folder: str, jars: str, settings: dict[str, str]) -> None:
        from pyspark.sql import SparkSession

        self._month, self._folder = month, folder
        builder = SparkSession.builder.master("local[2]")
        found = ",".join(str(path) for path in sorted(Path(jars).glob("*.jar")))
        for name, value in (SETTINGS | {"spark.jars": found} | settings).items():
            builder = builder.config(name, value)
        self._spark: Any = builder.getOrCreate()

    def read(self, table: str) -> int:
        """Read all columns of all rows; return how many rows."""
        frame = self._spark.table(self._name(table))
        frame.write.format("noop").mode("overwrite").save()
        return int(frame.count())

    def editions(self, table: str) -> dict[int, int]:
        """Return how many rows there are of each edition."""
        counted = self._spark.table(self._name(table)).groupBy("edition").count().collect()
        return {row["edition"]: row["count"] for row in counted}

    def close(self) -> None:
        """End its Spark."""
        self._spark.stop()

    def _name(self, table: str) -> str:
        raise NotImplementedError

    def _whole(self) -> Any:
        """Return the month, a task for each of its files: as many files are written."""
        options = {"spark.sql.files.maxPartitionBytes": "1m", "spark.sql.files.openCostInBytes": "1m"}
        for name, value in options.items():
            self._spark.conf.set(name, value)
        return self._spark.read.option("mergeSchema", True).parquet(f"{self._month}/*")

    def _edition(self, key: str, edition: int) -> Any:
        """Return the rows of a partition as its writer has them later."""
        from pyspark.sql.functions import lit

        frame = self._spark.read.parquet(f"{self._month}/{key}").withColumn("edition", lit(edition))
        return frame if _LATER in frame.columns else frame.withColumn(_LATER, lit(None).cast("int"))
