"""What became of the records that were delivered, line by line, for a terminal or the board."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from airflow_coordination.values.accounting import Accounting


@dataclass(frozen=True, slots=True)
class Line:
    """One count.

    :param count: what was counted.
    :param sink: of which sink, ``None`` for the records as a whole.
    :param records: how many.
    """

    count: str
    sink: str | None
    records: int


def lines(counted: Accounting) -> Iterator[Line]:
    """Yield what became of the records, then of what each sink was owed: in each part the first line is the sum."""
    yield Line("read", None, counted.read)
    yield Line("delivered everywhere", None, counted.delivered_everywhere)
    for reason, count in sorted(counted.dropped.items()):
        yield Line(f"dropped: {reason}", None, count)
    yield Line("unrouted", None, counted.unrouted)
    yield Line("dead-lettered", None, counted.dead_lettered)
    yield Line("failed", None, counted.failed)
    for name, sink in sorted(counted.sinks.items()):
        parts = ("owed", "delivered", "dead-lettered", "failed")
        for part, count in zip(parts, sink.values(), strict=True):
            yield Line(part, name, count)
