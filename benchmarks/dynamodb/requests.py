"""What a boto3 client sends, counted where botocore hands it to the network, and what the service bills for it."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

_CAPACITY = "ReturnConsumedCapacity"
_WRITES = frozenset({"PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems"})


@dataclass
class Tally:
    """Requests of some time.

    :param sent: how many, by operation.
    :param refused: how many of them were refused by a condition.
    :param written: write units, by ``table`` and index; only counted when the client was asked to.
    :param billed: the same as Amazon bills it: DynamoDB Local reports four units for an item of a transaction that
        changes the index, too, and Amazon bills two.
    :param read: read units, of the table and its index together.
    :param bytes: of the requests' bodies.
    :param received: bytes of the answers' bodies.
    :param at_once: how many are under way, and how many were at most.
    """

    sent: Counter[str] = field(default_factory=Counter)
    refused: int = 0
    written: Counter[str] = field(default_factory=Counter)
    billed: Counter[str] = field(default_factory=Counter)
    read: float = 0
    bytes: int = 0
    received: int = 0
    most_at_once: int = 0
    at_once: int = 0

    @property
    def total(self) -> int:
        """All requests."""
        return self.sent.total()


class Requests:
    """Listens to one client.

    :param client: a low-level client for ``dynamodb``.
    :param capacity: ask the service for the units of every write.
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

    def _sent(self, event_name: str, request: Any, **_: Any) -> None:
        with self._lock:
            for tally in self._tallies:
                tally.sent[event_name.rpartition(".")[2]] += 1
                tally.bytes += len(request.body)
                tally.at_once += 1
                tally.most_at_once = max(tally.most_at_once, tally.at_once)

    def _answered(self, event_name: str, http_response: Any, parsed: dict[str, Any], **_: Any) -> None:
        operation, units = event_name.rpartition(".")[2], _units(parsed.get("ConsumedCapacity"))
        refused, written = _was_refused(parsed), units if operation in _WRITES else Counter[str]()
        billed = _billed(operation, written)
        with self._lock:
            for tally in self._tallies:
                tally.at_once -= 1
                tally.refused += refused
                tally.written += written
                tally.billed += billed
                tally.read += (units - written).total()
                tally.received += len(http_response.content)


def _ask_for_capacity(params: dict[str, Any], model: Any, **_: Any) -> dict[str, Any] | None:
    return {**params, _CAPACITY: "INDEXES"} if _CAPACITY in model.input_shape.members else None


def _was_refused(parsed: dict[str, Any]) -> bool:
    codes = {parsed.get("Error", {}).get("Code")}
    codes |= {reason.get("Code") for reason in parsed.get("CancellationReasons", ())}
    return not codes.isdisjoint({"ConditionalCheckFailedException", "ConditionalCheckFailed"})


def _billed(operation: str, written: Counter[str]) -> Counter[str]:
    doubled = operation == "TransactWriteItems" and len(written) > 1
    return Counter({name: units / 2 if doubled else units for name, units in written.items()})


def _units(answer: Any) -> Counter[str]:
    units: Counter[str] = Counter()
    for consumed in [answer] if isinstance(answer, dict) else answer or ():
        units["table"] += consumed.get("Table", {}).get("CapacityUnits", 0)
        for name, index in consumed.get("GlobalSecondaryIndexes", {}).items():
            units[name] += index["CapacityUnits"]
    return +units
