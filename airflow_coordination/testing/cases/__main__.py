"""Prints what became of the cases of a file.

usage: python -m airflow_coordination.testing.cases FILE.json; it leaves with 1 when something is different and no
decision says why, with 2 when something in the file is malformed, which keeps nothing else from being run.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from airflow_coordination.testing.cases.results import BY_DESIGN, Result, Verdict
from airflow_coordination.testing.cases.running import run_file
from airflow_coordination.values.input_errors import InvalidInputError, printable

_STYLES = {Verdict.AS_EXPECTED: "green", Verdict.BY_DESIGN: "yellow"}
_WIDTH = 160


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a file, and return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m airflow_coordination.testing.cases",
        description="Run case files of the KCL's lease life cycle or of Druid's Coordinator, and compare.",
        epilog="Leaves with 1 when something is different and no decision says why, with 2 when a file is malformed.",
    )
    formats = "cases in the format of tests/cases/kcl_leases.json, or of Druid's: meta and cases"
    parser.add_argument("file", metavar="FILE.json", help=formats)
    options = parser.parse_args(arguments)
    try:
        results = run_file(options.file, keep_malformed=True)
    except InvalidInputError as error:
        print(f"error: {printable(str(error))}", file=sys.stderr)
        return 2
    show(results)
    problems = [one.problem for one in results if one.problem is not None]
    for problem in problems:
        print(f"error: {printable(str(problem))}", file=sys.stderr)
    return 2 if problems else int(any(result.verdict is Verdict.DIFFERENT for result in results))


def show(results: Sequence[Result]) -> None:
    """Print one line for each case, the reasons of what is by design, and the sums."""
    console = Console(width=None if sys.stdout.isatty() else _WIDTH, highlight=False)
    table = Table("section", "case", "verdict", "expected", "answer", "reason", box=box.ASCII_DOUBLE_HEAD)
    for one in results:
        verdict = Text(str(one.verdict), style=_STYLES.get(one.verdict, "bold red"))
        answer = "" if one.answer == one.expected else one.answer
        texts = (Text(printable(text)) for text in (one.expected, answer, one.reason))
        table.add_row(one.section, Text(printable(one.case)), verdict, *texts)
    console.print(table)
    for reason in dict.fromkeys(one.reason for one in results if one.reason):
        console.print(f"different by design, {reason}: {BY_DESIGN[reason]}.", markup=False)
    sums = Counter(one.verdict for one in results)
    others = [f"{sums[verdict]} {verdict}" for verdict in Verdict if verdict is not Verdict.AS_EXPECTED]
    console.print(f"{sums[Verdict.AS_EXPECTED]} of {len(results)} cases as expected, {', '.join(others)}.")


if __name__ == "__main__":
    sys.exit(main())
