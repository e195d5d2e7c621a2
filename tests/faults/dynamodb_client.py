"""Faults between a store and DynamoDB: a boto3 client whose requests are lost, late, throttled or answered stale.

>>> client = FaultyClient(boto3.client("dynamodb"), at({2: Fault.APPLIED}, "update_item"))
>>> store = DynamoDBStore(options, client=lambda _: client)

applies the second ``UpdateItem`` and loses its answer. The exceptions are botocore's own, made as botocore makes
them from what the service sends. One client may serve many stores: what is late for one comes after what the
others have sent meanwhile.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Mapping
from enum import Enum
from itertools import cycle
from typing import Any, Final

from botocore.exceptions import ClientError, ConnectionClosedError, EndpointConnectionError, ReadTimeoutError

from airflow_coordination.testing.crash import Crash
from tests.faults.dynamodb_lag import LaggingIndex

WRITES: Final = ("put_item", "update_item", "delete_item", "transact_write_items", "batch_write_item")
READS: Final = ("get_item", "query", "scan", "batch_get_item", "transact_get_items")


class Fault(Enum):
    """What happens to one request."""

    APPLIED = "it is applied, and its answer does not come in time"
    NOT_APPLIED = "it is lost, and so no answer comes"
    APPLIED_LATE = "no answer comes, and it is applied after later requests"
    UNREACHABLE = "it is not sent: nobody answers at the address"
    THROTTLED = "it is refused for its units"
    CONFLICT = "it is refused for a transaction that is under way"
    IN_PROGRESS = "a transaction is refused, because an earlier one of its token is under way"
    INTERNAL_ERROR = "it is applied, and the answer is 500"
    UNAVAILABLE = "it is not applied, and the answer is 503"
    NO_DATE = "its answer says no time"
    CRASH_BEFORE = "the process ends before it is sent"
    CRASH_AFTER = "the process ends after it was applied"


Plan = Callable[[str], Fault | None]
"""Says what happens to the next request of an operation, named as the client's method is."""


def at(faults: Mapping[int, Fault], *operations: str) -> Plan:
    """Return the plan under which the first, second, … request meets a fault.

    :param operations: those that are counted; all when there are none.
    """
    seen = 0

    def plan(operation: str) -> Fault | None:
        nonlocal seen
        seen += not operations or operation in operations
        return faults.get(seen) if not operations or operation in operations else None

    return plan


def by_chance(chances: Mapping[Fault, float], source: random.Random, *operations: str) -> Plan:
    """Return the plan under which every request meets each fault with a probability.

    :param chances: probabilities, together at most 1.
    :param source: seeded, so that the same requests meet the same faults again.
    :param operations: those that meet any; all when there are none.
    """

    def plan(operation: str) -> Fault | None:
        if operations and operation not in operations:
            return None
        left = source.random()
        for fault, chance in chances.items():
            left -= chance
            if left < 0:
                return fault
        return None

    return plan


def no_faults(operation: str) -> Fault | None:
    """Let every request pass."""
    return None


class FaultyClient:
    """A low-level client for ``dynamodb`` whose requests for items fail as planned; everything else is the client's.

    :param client: boto3's, which does the work.
    :param plan: what happens to each request; may be replaced at any time.
    :param late_by: after how many more requests a late one is applied.
    :param index: answers queries of the index; the engine's own is never late.
    """

    def __init__(
        self,
        client: Any,
        plan: Plan = no_faults,
        *,
        late_by: Callable[[], int] = lambda: 3,
        index: LaggingIndex | None = None,
    ) -> None:
        self._client, self.plan, self._late_by, self._index = client, plan, late_by, index
        self.requests: list[str] = []
        """The operations so far, those that met a fault included."""
        self.crashed = False
        """Whether the process has ended: every further request ends it again, also one made while tidying up."""
        self._late: list[tuple[int, Callable[[], object]]] = []
        self._throttles = cycle(_THROTTLES)
        self._lock = threading.RLock()

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._client, name)
        if name not in WRITES and name not in READS:
            return found
        return lambda **arguments: self._request(name, arguments)

    def deliver(self) -> None:
        """Apply now what was to be applied late."""
        with self._lock:
            late, self._late = self._late, []
        for _, send in late:
            send()

    def _request(self, name: str, arguments: dict[str, Any]) -> Any:
        if self.crashed:
            raise Crash(f"{name} after the end")
        with self._lock:
            self.requests.append(name)
            now = len(self.requests)
            due = [send for when, send in self._late if when <= now]
            self._late = [(when, send) for when, send in self._late if when > now]
            fault = self.plan(name)
        for send in due:
            send()
        return self._send(name, arguments) if fault is None else self._meet(fault, name, arguments)

    def _send(self, name: str, arguments: dict[str, Any]) -> Any:
        if self._index is None:
            return getattr(self._client, name)(**arguments)
        return self._index.send(name, arguments)

    def _meet(self, fault: Fault, name: str, arguments: dict[str, Any]) -> Any:
        self.crashed = fault in (Fault.CRASH_BEFORE, Fault.CRASH_AFTER)
        if fault is Fault.CRASH_BEFORE:
            raise Crash(f"before request {len(self.requests)}, {name}")
        if fault is Fault.NO_DATE:
            answer = self._send(name, arguments)
            answer["ResponseMetadata"]["HTTPHeaders"].pop("date", None)
            return answer
        if fault in (Fault.APPLIED, Fault.INTERNAL_ERROR, Fault.CRASH_AFTER):
            self._apply(name, arguments)
        if fault is Fault.CRASH_AFTER:
            raise Crash(f"after request {len(self.requests)}, {name}")
        if fault is Fault.APPLIED_LATE:
            when = len(self.requests) + self._late_by()
            self._late.append((when, lambda: self._apply(name, arguments)))
        raise self.error_of(fault, name, arguments)

    def _apply(self, name: str, arguments: dict[str, Any]) -> None:
        """Send a request whose answer, a refusal too, nobody hears."""
        try:
            self._send(name, arguments)
        except ClientError:
            return

    def error_of(self, fault: Fault, name: str, arguments: dict[str, Any]) -> Any:
        """Return the exception that boto3 raises for a fault of a request."""
        endpoint = self._client.meta.endpoint_url
        if fault is Fault.UNREACHABLE:
            return EndpointConnectionError(endpoint_url=endpoint, error="connection refused")
        if fault is Fault.NOT_APPLIED:
            return ConnectionClosedError(endpoint_url=endpoint, error="reset by peer")
        if fault in (Fault.APPLIED, Fault.APPLIED_LATE):
            return ReadTimeoutError(endpoint_url=endpoint, error="timed out")
        changes = arguments.get("TransactItems")
        if changes and fault in _REASONS:
            return self._cancelled(name, _REASONS[fault], len(changes))
        code, message, status = next(self._throttles) if fault is Fault.THROTTLED else _ANSWERS[fault]
        return self._refusal(name, code, message, status)

    def _cancelled(self, name: str, reason: tuple[str, str], size: int) -> ClientError:
        """Return the refusal of a transaction of ``size`` items for its last one."""
        code, message = reason
        codes = ["None"] * (size - 1) + [code]
        reasons: list[dict[str, str]] = [{"Code": code} for code in codes]
        reasons[-1]["Message"] = message
        text = f"Transaction cancelled, please refer cancellation reasons for specific reasons [{', '.join(codes)}]"
        return self._refusal(name, "TransactionCanceledException", text, CancellationReasons=reasons)

    def _refusal(self, name: str, code: str, message: str, status: int = 400, **more: Any) -> ClientError:
        response = {
            "Error": {"Code": code, "Message": message},
            "ResponseMetadata": {"HTTPStatusCode": status, "HTTPHeaders": {}, "RetryAttempts": 0},
            **more,
        }
        operation = self._client.meta.method_to_api_mapping[name]
        made: ClientError = self._client.exceptions.from_code(code)(response, operation)
        return made


_THROTTLES: Final = (
    ("ProvisionedThroughputExceededException", "The level of configured provisioned throughput was exceeded.", 400),
    ("ThrottlingException", "Rate of requests exceeds the allowed throughput.", 400),
    ("RequestLimitExceeded", "Throughput exceeds the current throughput limit for your account.", 400),
)
_REASONS: Final = {
    Fault.THROTTLED: ("ThrottlingError", "Throughput exceeds the current capacity of your table or index."),
    Fault.CONFLICT: ("TransactionConflict", "Transaction is ongoing for the item"),
}
_IN_PROGRESS: Final = "The transaction with the given request token is already in progress."
_ANSWERS: Final = {
    Fault.CONFLICT: ("TransactionConflictException", "Transaction is ongoing for the item", 400),
    Fault.IN_PROGRESS: ("TransactionInProgressException", _IN_PROGRESS, 400),
    Fault.INTERNAL_ERROR: ("InternalServerError", "Internal server error", 500),
    Fault.UNAVAILABLE: ("ServiceUnavailable", "Service Unavailable. Please try again later.", 503),
}
