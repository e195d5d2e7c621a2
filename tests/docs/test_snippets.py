"""Every Python block of the documentation runs, in its page's order, and prints what the page says."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import PAGES, ROOT, label, steps

RUNNER = Path(__file__).with_name("run_page.py")
MARKS = {
    "SparkSession": pytest.mark.spark,
    "postgresql+psycopg": pytest.mark.postgres,
    "search.example": pytest.mark.opensearch,
    "from airflow.sdk": pytest.mark.slow,
    "airflow dags test": pytest.mark.spark,
    "python -m": pytest.mark.slow,
    "sqlite": pytest.mark.slow,
}
IN_THE_DOCS = re.compile(r"postgresql\+psycopg://\w+@db\.example/coordination(\?sslmode=verify-full)?")

AN_INDEX = "http://search.example:9200"


def _case(page):
    code = "".join(step["text"] for step in steps(page))
    return pytest.param(page, id=label(page), marks=[mark for word, mark in MARKS.items() if word in code])


@pytest.mark.timeout(1300)
@pytest.mark.parametrize("page", [_case(page) for page in PAGES if steps(page)])
def test_page_runs(page, tmp_path, request):
    """In an empty directory, with the package importable and a private Airflow home."""
    todo = steps(page)
    if any(IN_THE_DOCS.search(step["text"]) for step in todo):
        url = request.getfixturevalue("postgres_url")
        for step in todo:
            step["text"] = IN_THE_DOCS.sub(url, step["text"])
    if any(AN_INDEX in step["text"] for step in todo):
        node = request.getfixturevalue("opensearch_node")
        for step in todo:
            step["text"] = step["text"].replace(AN_INDEX, node)
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
    run = subprocess.run(command, cwd=work, env=environment, capture_output=True, text=True, timeout=1200)
    assert run.returncode == 0, f"{label(page)}:\n{run.stderr[-4000:]}"
