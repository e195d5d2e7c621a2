"""Make an archive of Spark's loaded classes, with which a JVM of Spark starts in half the CPU time.

usage: spark_archive.py

It lies in ``.work``, 170 MB, and fits one version of Spark on one Java, that of ``JAVA_HOME``. A JVM that it does not
fit, and one with other jars in front of Spark's, does without it.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Final

HOME: Final = Path(__file__).resolve().parent.parent / ".work"
SHORT_LIVED: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""A simple compiler and collector: most JVMs of tests live for seconds."""
_JOB: Final = """
import sys
from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
spark.range(100).selectExpr("id % 7 AS month", "CAST(id AS string) AS name").write.parquet(sys.argv[1])
spark.read.parquet(sys.argv[1]).groupBy("month").count().collect()
spark.sparkContext.parallelize(range(10), 2).map(str).collect()
spark.stop()
"""


def archive() -> Path | None:
    """Return where the archive is, or would be, for Spark and Java as they are; ``None`` without ``JAVA_HOME``."""
    release = Path(os.environ.get("JAVA_HOME", "/nowhere"), "release")
    java = re.search(r'^JAVA_VERSION="(.+)"', release.read_text(), re.MULTILINE) if release.is_file() else None
    return HOME / f"spark-{version('pyspark')}-java-{java[1]}.jsa" if java else None


def java_options() -> str:
    """Return the options for every JVM that lives for seconds, with the archive if there is one."""
    found = archive()
    return f"{SHORT_LIVED} -XX:SharedArchiveFile={found} -Xlog:cds*=off" if found and found.exists() else SHORT_LIVED


def make(target: Path) -> None:
    """Run a small application, and keep the classes that its JVM has loaded."""
    target.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as place:
        job, made = Path(place, "job.py"), Path(place, "spark.jsa")
        job.write_text(_JOB)
        command = [
            Path(sys.executable).with_name("spark-submit"), "--master", "local[1]", "--conf", "spark.ui.enabled=false",
            "--driver-java-options", f"-XX:ArchiveClassesAtExit={made} -Xlog:cds*=off", job, Path(place, "out"),
        ]  # fmt: skip
        environment = os.environ | {"JDK_JAVA_OPTIONS": SHORT_LIVED, "PYSPARK_PYTHON": sys.executable}
        finished = subprocess.run(command, env=environment, cwd=place, capture_output=True, text=True, check=False)
        if finished.returncode or not made.exists():
            sys.exit(f"Spark's classes could not be archived:\n{finished.stderr[-2000:]}")
        made.replace(target)  # whole: a JVM ends at a half one


if __name__ == "__main__":
    place = archive()
    if place is None:
        sys.exit("JAVA_HOME is not set to a Java. Run: scripts/with_java.sh .venv/bin/python scripts/spark_archive.py")
    if not place.exists():
        print("Archiving Spark's classes, which takes half a minute")
        make(place)
