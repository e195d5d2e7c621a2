"""Runs case files: what the KCL or Druid's Coordinator does, or what you want, as plain JSON beside what we do.

``python -m airflow_coordination.testing.cases FILE.json`` prints a table, and exits with 1 when something is different
and no decision says why. The format is that of ``tests/cases/kcl_leases.json``, of which a file may have any section,
or that of ``tests/cases/druid_coordinator.json``, in which each case names its area.
"""

from airflow_coordination.testing.cases.results import BY_DESIGN, Result, Verdict
from airflow_coordination.testing.cases.running import run_file

__all__ = ["BY_DESIGN", "Result", "Verdict", "run_file"]
