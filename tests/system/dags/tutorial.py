"""The tutorial's own DAG, word for word, with its files below the home of the tests' Airflow, without its schedule."""

import os
from pathlib import Path

from airflow.sdk import DAG

from tests.docs.pages import ROOT, steps

PLACE = Path(os.environ["COORDINATION_SYSTEM_HOME"], "tutorial", "dags", "sales.py")
[text] = [step["text"] for step in steps(ROOT / "docs" / "tutorial.md") if step["name"] == "dags/sales.py"]
found = {"__file__": str(PLACE), "__name__": __name__}
exec(compile(text.replace('schedule="@hourly"', "schedule=None"), __file__, "exec"), found)
sales: DAG = found["dag"]
