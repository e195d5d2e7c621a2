"""Delta: ``OPTIMIZE``, plain appends, and ``replaceWhere`` for what is corrected."""

from __future__ import annotations

from benchmarks.compaction.tables import Tables


class Delta(Tables):
    """A Delta table.

    :param month: folder with a directory for each partition.
    :param folder: where tables go.
    :param jars: folder of Delta's jars.
    """

    def __init__(self, month: str, folder: str, jars: str) -> None:
        settings = {
            "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
            "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
            # Fifty tasks to read the log of a small table would be most of what is measured.
            "spark.databricks.delta.snapshotPartitions": "2",
        }
        super().__init__(month, folder, jars, settings)

    def fill(self, table: str) -> None:
        """Take the month in, a file for each of its files."""
        self._whole().write.format("delta").save(f"{self._folder}/{table}")

    def compact(self, table: str) -> None:
        """Merge small files."""
        self._spark.sql(f"OPTIMIZE {self._name(table)}").collect()

    def files(self, table: str) -> tuple[int, int]:
        """Return how many files readers open, and their bytes."""
        found = self._spark.sql(f"DESCRIBE DETAIL {self._name(table)}").first()
        return found["numFiles"], found["sizeInBytes"]

    def write(self, table: str, key: str, edition: int) -> None:
        """Replace the rows of a partition by edition 1, or add those of edition 2 to it."""
        writer = self._edition(key, edition).write.format("delta")
        writer = (
            writer.mode("overwrite").option("replaceWhere", f"key = '{key}'") if edition == 1 else writer.mode("append")
        )
        writer.save(f"{self._folder}/{table}")

    def _name(self, table: str) -> str:
        return f"delta.`{self._folder}/{table}`"
