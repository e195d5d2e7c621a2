"""Runs case files: what the KCL does, or what you want, as plain JSON beside what we do.

``python -m tests.cases FILE.json`` prints a table, and exits with 1 when something is different
and no decision says why. The format is that of ``tests/cases/kcl_leases.json``; a file may have any of its sections.
"""

from tests.cases.results import BY_DESIGN, Result, Verdict
from tests.cases.running import run_file

__all__ = ["BY_DESIGN", "Result", "Verdict", "run_file"]
