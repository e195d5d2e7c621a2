"""What plain pip takes today for our extras: it comes to an end, and what it takes works together."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.house.tree import ROOT

EXTRAS = sorted(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"])
WITHIN = 600
"""Seconds. pip went on for more than 1,800 before s3fs had a lower bound; now it needs less than 60."""


def resolved(extras: str, place: Path) -> dict[str, str]:
    """Return the versions that pip would install into an empty environment, none of which is pinned here."""
    report = place / "report.json"
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--dry-run"]
    command += ["--ignore-installed", "--no-build-isolation", "--report", str(report), f"{ROOT}[{extras}]"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=WITHIN, check=False)
    assert ran.returncode == 0, ran.stderr[-4000:]
    found = [each["metadata"] for each in json.loads(report.read_text())["install"]]
    return {each["name"].lower(): each["version"] for each in found}


@pytest.mark.slow
@pytest.mark.timeout(WITHIN + 60)
def test_i2_pip_resolves_all_extras_together(tmp_path: Path) -> None:
    """I2: boto3, newest first, met the exact range of sixty versions of aiobotocore. I1: the pair was unequal."""
    versions = resolved(",".join(EXTRAS), tmp_path)
    assert versions["pyspark"] == versions["pyspark-client"]
    assert {
        "apache-airflow",
        "apache-airflow-providers-amazon",
        "s3fs",
        "psycopg",
        "confluent-kafka",
    } <= versions.keys()


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.timeout(WITHIN + 60)
@pytest.mark.parametrize("extra", EXTRAS)
def test_i2_pip_resolves_each_extra(extra: str, tmp_path: Path) -> None:
    """Z9: only what names Airflow brings it."""
    versions = resolved(extra, tmp_path)
    assert ("apache-airflow" in versions) is (extra in {"airflow", "amazon"})
    assert ("boto3" in versions) is (extra in {"aws", "amazon"})
