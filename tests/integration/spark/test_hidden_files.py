"""Which files Spark's readers leave out without a word: what a supplier says of their names is what Spark does."""

from __future__ import annotations

from pathlib import Path

from airflow_coordination.systems.objects.listing import hidden_from_spark

NAMES = (
    "a.csv",
    "_a.csv",
    ".a.csv",
    "_a=b.csv",
    ".a=b.csv",
    "_metadata",
    "_metadata.csv",
    "_SUCCESS",
    "a._COPYING_",
    "a_.csv",
    "_d/a.csv",
    ".d/a.csv",
    "d._COPYING_/a.csv",
)


def test_d11_spark_reads_a_row_of_a_file_unless_its_name_is_hidden(spark, tmp_path: Path) -> None:
    for name in NAMES:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("1\n")
    read = {name: len(spark.read.schema("v int").csv(str(tmp_path / name)).limit(2).collect()) for name in NAMES}
    assert read == {name: 0 if hidden_from_spark(name) else 1 for name in NAMES}
