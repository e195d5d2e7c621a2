"""One pass over a table's key: its position between two steps."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from airflow_coordination.protocol.partition import PartitionIdentifier
from airflow_coordination.values.input_errors import ProgressStateError
from airflow_coordination.values.names import SEPARATOR, encode_part

RANGES: Final = "SQL_RANGES"
"""The name in the global state of all that passes over a table remember."""
UNDER_WAY: Final = "walk"
"""The name, below it, of the pass that is under way."""
_SHOWN: Final = 200


@dataclass(frozen=True, slots=True)
class RangePass:
    """A pass that is under way.

    :param kind: the key's kind.
    :param rows: rows per range.
    :param first: whether the pass begins before all keys, with the rows that have none.
    :param after: the last bound that is dealt with, as JSON.
    :param top: the last key of the pass, as JSON; ``None`` for no end.
    :param plan: payloads that are planned and perhaps not created.
    :param end: whether the plan reaches ``top``.
    """

    kind: str
    rows: int
    first: bool
    after: Any = None
    top: Any = None
    plan: tuple[Mapping[str, Any], ...] = ()
    end: bool = False

    def planned(self, where: Mapping[str, Any], bounds: Sequence[Any], end: bool) -> RangePass:
        """Return the pass one step on: its plan are the ranges that end at ``bounds``."""
        lowers = [self.after, *bounds[:-1]]
        plan = tuple(
            {**where, "type": self.kind, "lower": lower, "upper": upper, "nulls": self.first and number == 0}
            for number, (lower, upper) in enumerate(zip(lowers, bounds, strict=True))
        )
        return replace(self, plan=plan, after=bounds[-1], first=False, end=end)

    def document(self) -> dict[str, Any]:
        """Return the pass as the global state keeps it."""
        names = ("kind", "rows", "first", "after", "top", "end")
        return {name: getattr(self, name) for name in names} | {"plan": list(self.plan)}


def unfinished_pass(marks: Mapping[str, Any]) -> RangePass | None:
    """Return the pass that the state says is under way, ``None`` when there is none.

    :raises ProgressStateError: when what it says cannot be read.
    """
    found = marks.get(UNDER_WAY)
    if found is None:
        return None
    try:
        return RangePass(**{**found, "plan": tuple(found["plan"])})
    except (TypeError, KeyError) as error:
        raise ProgressStateError(
            f"global_state.{RANGES}", found, "is no pass over a table", "Repair it in the store"
        ) from error


def identifier(payload: Mapping[str, Any]) -> PartitionIdentifier:
    """Return the partition of a range: key ``table|column|lower|upper``, the bounds as JSON, long ones cut."""
    bounds = [_short(json.dumps(payload[name], ensure_ascii=False)) for name in ("lower", "upper")]
    return PartitionIdentifier(
        SEPARATOR.join(map(encode_part, [table_name(payload), payload["column"], *bounds])), payload=payload
    )


def table_name(payload: Mapping[str, Any]) -> str:
    """Return the name of a range's table, with its schema."""
    return ".".join(part for part in (payload.get("schema"), payload["table"]) if part)


def _short(text: str) -> str:
    """Return a bound's text, with a digest in the place of what is too long for a key."""
    if len(text) <= _SHOWN:
        return text
    return f"{text[: _SHOWN // 2]}…{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:24]}"
