"""Numbers as Prometheus reads them: its text format, version 0.0.4 (Prometheus: *Exposition formats*)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from airflow_coordination.cli.output import escape

GAUGE: Final = "gauge"
Labels = Mapping[str, str]
Sample = tuple[Labels, int | float]


@dataclass(frozen=True, slots=True)
class Family:
    """What one metric means.

    :param name: in snake case, with its unit at the end.
    :param help: one sentence.
    """

    name: str
    help: str


def rendered(samples: Mapping[Family, Iterable[Sample]]) -> str:
    """Return the text of some gauges, those of one family together, as the format demands.

    :param samples: labels and value of each series; no two of a family have the same labels.
    """
    return "".join(line for family, found in samples.items() for line in _family(family, found))


def _family(family: Family, samples: Iterable[Sample]) -> Iterable[str]:
    text = family.help.replace("\\", r"\\").replace("\n", r"\n")
    yield f"# HELP {family.name} {text}\n"
    yield f"# TYPE {family.name} {GAUGE}\n"
    for labels, value in samples:
        named = ",".join(f'{name}="{_quoted(label)}"' for name, label in labels.items())
        yield f"{family.name}{{{named}}} {value}\n" if named else f"{family.name} {value}\n"


def _quoted(text: str) -> str:
    """Return a label's value; what could move a cursor is an escape in it, and no two texts become the same.

    A series that is there twice makes Prometheus refuse all of them.
    """
    visible = escape(text.replace("\\", r"\\"))
    return visible.replace("\\", r"\\").replace('"', r"\"")
