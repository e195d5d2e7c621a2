"""What a boto3 client sends, counted where botocore hands it to the network, and what the service bills for it."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

_CAPACITY = "ReturnConsumedCapacity"


@dataclass
class Tally:
    """Requests of some time.

    :param sent: how many, by operation.
    :param refused: how many of them were refused by a condition.
    :param units: capacity units, by ``table`` and index; only counted when the client was asked to.
    """

    sent: Counter[str] = field(default_factory=Counter)
    refused: int = 0
    units: Counter[str] = field(default_factory=Counter)

    @property
    def total(self) -> int:
        """All requests."""
        return self.sent.total()


class Requests:
    """Listens to one client.

    :param client: a low-level client for ``dynamodb``.
    :param capacity: ask the service for the units of every request.
    """

    def __init__(self, client: Any, *, capacity: bool = False) -> None:
        self._lock = threading.Lock()
        self._tallies: list[Tally] = []
        events = client.meta.events
        events.register("before-send.dynamodb", self._sent)
        events.register("after-call.dynamodb", self._answered)
        if capacity:
            events.register("provide-client-params.dynamodb", _ask_for_capacity)

    @contextmanager
    def counted(self) -> Iterator[Tally]:
        """Give the tally of what is sent inside the block."""
        tally = Tally()
        with self._lock:
            self._tallies.append(tally)
        yield tally
        with self._lock:
            self._tallies = [other for other in self._tallies if other is not tally]

    def _sent(self, event_name: str, **_: Any) -> None:
        with self._lock:
            for tally in self._tallies:
                tally.sent[event_name.rpartition(".")[2]] += 1

    def _answered(self, parsed: dict[str, Any], **_: Any) -> None:
        refused, units = _was_refused(parsed), _units(parsed.get("ConsumedCapacity"))
        with self._lock:
            for tally in self._tallies:
                tally.refused += refused
                tally.units += units


def _ask_for_capacity(params: dict[str, Any], model: Any, **_: Any) -> dict[str, Any] | None:
    return {**params, _CAPACITY: "INDEXES"} if _CAPACITY in model.input_shape.members else None


def _was_refused(parsed: dict[str, Any]) -> bool:
    codes = {parsed.get("Error", {}).get("Code")}
    codes |= {reason.get("Code") for reason in parsed.get("CancellationReasons", ())}
    return not codes.isdisjoint({"ConditionalCheckFailedException", "ConditionalCheckFailed"})


def _units(answer: Any) -> Counter[str]:
    units: Counter[str] = Counter()
    for consumed in [answer] if isinstance(answer, dict) else answer or ():
        units["table"] += consumed.get("Table", {}).get("CapacityUnits", 0)
        for name, index in consumed.get("GlobalSecondaryIndexes", {}).items():
            units[name] += index["CapacityUnits"]
    return +units
