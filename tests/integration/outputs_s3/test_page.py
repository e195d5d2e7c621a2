"""The page for users names the versions that the tests run."""

from __future__ import annotations

import re
from pathlib import Path

from scripts.java_packages import SETS, hadoop_version

PAGE = Path(__file__).parents[3] / "docs/how-to/s3.md"


def test_the_page_names_the_jars_that_are_tested() -> None:
    page = PAGE.read_text()
    [committers] = re.findall(
        r'name="(spark-hadoop-cloud_[\d.]+)" rev="([\d.]+)"', (SETS / "hadoop-aws.xml").read_text()
    )
    assert f"--packages org.apache.hadoop:hadoop-aws:{hadoop_version()} --jars {'-'.join(committers)}.jar" in page
