"""The example of compaction, on the days of the tests."""

import runpy
from pathlib import Path

from airflow_coordination.compaction import CompactionConfig

example = runpy.run_path(str(Path(__file__).parents[3] / "dags" / "compaction.py"))
days = example["compaction"](
    "days",
    CompactionConfig("clean", granularity="MONTH", interval_from_key="%Y-%m-%d *", skip_offset_from_latest="P0D"),
)
