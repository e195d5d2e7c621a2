"""Every Python block of the documentation runs, in its page's order, and prints what the page says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import PAGES, ROOT, label, steps

RUNNER = Path(__file__).with_name("run_page.py")
MARKS = {"SparkSession": (pytest.mark.spark, pytest.mark.slow), "from airflow.sdk": (pytest.mark.slow,)}
NEEDS_POSTGRES = "postgresql+psycopg"


def _case(page):
    code = "".join(step["text"] for step in steps(page))
    marks = [mark for word, found in MARKS.items() if word in code for mark in found]
    return pytest.param(
        page, id=label(page), marks=[*marks, *([pytest.mark.postgres] if NEEDS_POSTGRES in code else [])]
    )


@pytest.mark.timeout(300)
@pytest.mark.parametrize("page", [_case(page) for page in PAGES if steps(page)])
def test_page_runs(page, tmp_path, request):
    """In an empty directory, with the package importable and a private Airflow home."""
    todo = steps(page)
    if any(NEEDS_POSTGRES in step["text"] for step in todo):
        url = request.getfixturevalue("postgres_url")
        for step in todo:
            step["text"] = step["text"].replace("postgresql+psycopg://coordination@db.example/coordination", url)
    (tmp_path / "steps.json").write_text(json.dumps(todo))
    work = tmp_path / "work"
    work.mkdir()
    environment = os.environ | {
        "PYTHONPATH": str(ROOT),
        "AIRFLOW_HOME": str(tmp_path / "airflow"),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYSPARK_PYTHON": sys.executable,
    }
    command = [sys.executable, str(RUNNER), str(tmp_path / "steps.json")]
    run = subprocess.run(command, cwd=work, env=environment, capture_output=True, text=True, timeout=280)
    assert run.returncode == 0, f"{label(page)}:\n{run.stderr[-4000:]}"
