"""The environments that we say we run in: Airflow, Python, pyspark, and what cannot be had."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

PAIR: Final = "4.2.0"
"""The newest pyspark that has an equal pyspark-client."""


@dataclass(frozen=True, slots=True)
class Line:
    """The newest patch of a minor version of Airflow.

    :param version: of ``apache-airflow``.
    :param until: what it brings is no newer than this moment: it does not start with today's fastapi and pydantic.
    """

    version: str
    until: str | None = None


@dataclass(frozen=True, slots=True)
class Cell:
    """One environment.

    :param name: on the command line and in the table.
    :param python: minor version of the interpreter.
    :param airflow: ``None`` where jobs run without Airflow.
    :param spark: of pyspark.
    :param client: of pyspark-client; another one than pyspark's is installed before it, as docs/how-to/install.md says.
    :param lowest: whether each requirement of ours is as old as we allow.
    :param whole: whether unit tests and the board are tried, too.
    """

    name: str
    python: str
    airflow: Line | None
    spark: str = PAIR
    client: str | None = PAIR
    lowest: bool = False
    whole: bool = True

    @property
    def steps(self) -> tuple[str, ...]:
        """What is tried, in this order: what is shortest, first."""
        if self.airflow is None:
            return ("drain",)
        return ("imports", "readme", "drain", "board", "unit") if self.whole else ("imports", "readme", "drain")


AIRFLOWS: Final = {
    "3.3": Line("3.3.2"),
    "3.2": Line("3.2.2", "2026-06-10T00:00:00Z"),
    "3.1": Line("3.1.8", "2026-03-21T00:00:00Z"),
}
"""Ten days after the release of each, but for the newest."""
_ENDS: Final = [("3.2", "3.14"), ("3.2", "3.11"), ("3.1", "3.13"), ("3.1", "3.11")]
"""The newest and the oldest Python of each; Airflow 3.1 wants one below 3.14, and does not start on it."""
_SPARKS: Final = {"4.3": ("4.3.0", "4.2.0"), "4.1": ("4.1.3", "4.1.3"), "4.0": ("4.0.4", "4.0.4")}

CELLS: Final = (
    *(Cell(f"airflow3.3-py{python}", python, AIRFLOWS["3.3"]) for python in ("3.14", "3.13", "3.12", "3.11")),
    *(Cell(f"airflow{line}-py{python}", python, AIRFLOWS[line]) for line, python in _ENDS),
    *(
        Cell(f"airflow3.3-py3.11-pyspark{line}", "3.11", AIRFLOWS["3.3"], spark, client, whole=False)
        for line, (spark, client) in _SPARKS.items()
    ),
    *(
        Cell(f"pyspark{'.'.join(spark.split('.')[:2])}-py3.11", "3.11", None, spark, None)
        for spark in ("4.3.0", "4.2.1", "4.1.4", "4.0.5", "3.5.9")
    ),
    Cell("lowest-direct-py3.11", "3.11", Line("3.1.1"), "4.0.0", "4.0.0", lowest=True, whole=False),
)
"""The newest Airflow first."""


def named(name: str) -> Cell:
    """Return a cell.

    :raises SystemExit: when there is none of this name.
    """
    found = [cell for cell in CELLS if cell.name == name]
    if not found:
        raise SystemExit(f"CELL={name!a} is no cell. Name one of: {', '.join(cell.name for cell in CELLS)}")
    return found[0]
