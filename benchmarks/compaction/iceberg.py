"""Iceberg: ``rewrite_data_files``, plain appends, and ``MERGE`` for what is corrected; its catalog is in PostgreSQL."""

from __future__ import annotations

from benchmarks.compaction.tables import Tables


class Iceberg(Tables):
    """An Iceberg table.

    :param month: folder with a directory for each partition.
    :param folder: where tables go.
    :param jars: folder of Iceberg's jars, and PostgreSQL's driver.
    :param catalog: JDBC URL of its catalog.
    """

    def __init__(self, month: str, folder: str, jars: str, catalog: str) -> None:
        settings = {
            "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
            "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
            "spark.sql.catalog.lake.catalog-impl": "org.apache.iceberg.jdbc.JdbcCatalog",
            "spark.sql.catalog.lake.uri": catalog,
            "spark.sql.catalog.lake.jdbc.schema-version": "V1",
            "spark.sql.catalog.lake.warehouse": folder,
        }
        super().__init__(month, folder, jars, settings)
        self._spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.db")

    def fill(self, table: str) -> None:
        """Take the month in, a file for each of its files."""
        writer = self._whole().writeTo(self._name(table)).using("iceberg")
        writer.tableProperty("write.distribution-mode", "none").create()

    def compact(self, table: str) -> None:
        """Merge small files, as few as two: Delta does that, too, and Iceberg else waits for five."""
        options = "options => map('min-input-files', '2')"
        self._spark.sql(f"CALL lake.system.rewrite_data_files(table => 'db.{table}', {options})").collect()

    def files(self, table: str) -> tuple[int, int]:
        """Return how many files readers open, and their bytes."""
        question = f"SELECT count(*), sum(file_size_in_bytes) FROM {self._name(table)}.files"
        count, size = self._spark.sql(question).first()
        return count, size

    def write(self, table: str, key: str, edition: int) -> None:
        """Replace the rows of a partition by edition 1, or add those of edition 2 to it."""
        frame = self._edition(key, edition)
        if edition == 2:
            frame.writeTo(self._name(table)).append()
            return
        view = f"new_{key}".replace("-", "_")
        frame.createOrReplaceTempView(view)
        same = f"t.key = '{key}' AND t.key = s.key AND t.number = s.number"
        then = "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
        self._spark.sql(f"MERGE INTO {self._name(table)} t USING {view} s ON {same} {then}")

    def _name(self, table: str) -> str:
        return f"lake.db.{table}"
