"""Requests to one table: sent once or side by side, the service's own time, and what a process remembers."""

from __future__ import annotations

import os
import re
import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any, Final, TypeVar

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConfigParseError,
    ConnectTimeoutError,
    CredentialRetrievalError,
    EndpointConnectionError,
    HTTPClientError,
    InvalidConfigError,
    NoCredentialsError,
    NoRegionError,
    ParamValidationError,
    PartialCredentialsError,
    ProfileNotFound,
    SSOError,
    TokenRetrievalError,
)

from airflow_coordination.stores.calls import Call, no_schema
from airflow_coordination.stores.dynamodb.items import Item, plain
from airflow_coordination.values.errors import SchemaVersionError, StoreUnavailableError
from airflow_coordination.values.input_errors import CoordinationError, SettingsError
from airflow_coordination.values.program import TYPED
from airflow_coordination.values.times import Clock, SystemClock

MARGIN: Final = timedelta(seconds=2)
"""How much later than its end a lease counts as ended: the service's front ends may disagree by that much."""

_FRESH_SECONDS: Final = 60.0
"""For how long this process's clock is believed rather than an answer that says less and may have been on its way."""


class ServiceClock:
    """Tells the service's time between its answers by this process's monotonic clock.

    ``Date`` has whole seconds and was written before it was read, so the time told is never later than the true
    one, and earlier by at most a second and the answer's way.

    :param local: gives monotonic seconds; its wall time is not used.
    :param injected: decides instead of the service, without any margin, for tests.
    """

    def __init__(self, injected: Clock | None = None, local: Clock | None = None) -> None:
        self.injected, self._local = injected, local or SystemClock()
        self._heard: tuple[datetime, float] | None = None

    @property
    def is_set(self) -> bool:
        """Whether the time is known yet."""
        return self.injected is not None or self._heard is not None

    def hear(self, date: str | None) -> None:
        """Take the time from an answer's ``Date`` header; one that is absent or cannot be read says nothing."""
        with suppress(ValueError, OverflowError):
            heard, at = parsedate_to_datetime(date or "").astimezone(UTC), self._local.monotonic()
            if self._heard is None or at - self._heard[1] > _FRESH_SECONDS or heard >= self.now():
                self._heard = (heard, at)

    def now(self) -> datetime:
        """Return the service's time.

        :raises StoreUnavailableError: before the first answer.
        """
        if self.injected is not None:
            return self.injected.now()
        if self._heard is None:
            raise StoreUnavailableError("learn the service's time", "no answer has said it yet")
        date, at = self._heard
        return date + timedelta(seconds=self._local.monotonic() - at)

    def surely_past(self) -> datetime:
        """Return the newest moment that has surely passed: what ended by then can be taken."""
        return self.now() if self.injected is not None else self.now() - MARGIN


PARALLEL: Final = 8
"""How many requests of one step are under way at a time."""
T = TypeVar("T")


def side_by_side(calls: Sequence[Callable[[], T]]) -> list[T]:
    """Make calls, ``PARALLEL`` of them at a time, and return their results; one at a time stays in this thread."""
    if min(PARALLEL, len(calls)) <= 1:
        return [call() for call in calls]
    with ThreadPoolExecutor(min(PARALLEL, len(calls))) as pool:
        running = [pool.submit(call) for call in calls]
    return [task.result() for task in running]


_REMEMBERED: Final = 10_000


class Remembered:
    """A bounded memory: source and name to value, the oldest forgotten first."""

    def __init__(self, limit: int = _REMEMBERED) -> None:
        self._limit = limit
        self._values: OrderedDict[tuple[str, str], Any] = OrderedDict()

    def put(self, source: str, name: str, value: Any) -> None:
        """Remember ``value``."""
        self._values[source, name] = value
        while len(self._values) > self._limit:
            self._values.popitem(last=False)

    def get(self, source: str, name: str) -> Any:
        """Return what is remembered, ``None`` when nothing is."""
        return self._values.get((source, name))


_THROTTLED: Final = frozenset(
    {
        "LimitExceededException",
        "ProvisionedThroughputExceeded",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "Throttling",
        "ThrottlingError",
        "ThrottlingException",
    }
)
_NOT_NOW: Final = frozenset({"TransactionCanceledException", "TransactionConflictException"})
"""Not applied, because another transaction is under way on an item: a renewal may meet the save of large progress."""
_NEVER: Final = frozenset({"ItemCollectionSizeLimitExceeded", "ValidationError"})
"""Reasons of a cancelled transaction that repeating cannot cure."""
_READS: Final = frozenset({"batch_get_item", "describe_table", "describe_time_to_live", "get_item", "query"})
_DENIED: Final = frozenset({"AccessDenied", "AccessDeniedException", "UnauthorizedOperation"})
_WHO: Final = frozenset(
    {
        "ExpiredToken",
        "ExpiredTokenException",
        "IncompleteSignatureException",
        "InvalidClientTokenId",
        "InvalidSignatureException",
        "MissingAuthenticationTokenException",
        "UnrecognizedClientException",
    }
)
_NOT_SENT: Final = (EndpointConnectionError, ConnectTimeoutError)
_NO_CREDENTIALS: Final = (
    ConfigParseError,
    CredentialRetrievalError,
    InvalidConfigError,
    NoCredentialsError,
    NoRegionError,
    PartialCredentialsError,
    ProfileNotFound,
    SSOError,
    TokenRetrievalError,
)
_THROTTLES: Final = re.compile("Throttl|Throughput")
_CLOCK: Final = re.compile("Signature expired|not yet current")
_SHAPES: Final = ("ResourceNotFoundException", "ValidationException")
_SHAPE: Final = re.compile("key element|conditions on the keys|required keys|specified index")
"""What the service and the engines for tests say of keys and of an index that the table has not."""
_ACTION: Final = re.compile(r"\b(dynamodb|sts):[A-Za-z]+")


@dataclass(frozen=True, slots=True)
class Refusal:
    """A condition did not hold.

    :param item: the item as it was, ``None`` when there is none.
    :param index: which write of the transaction it was, 0 = the first, or the only one.
    """

    item: Item | None
    index: int = 0


class Table:
    """A DynamoDB table and the client that reaches it.

    :param make_client: makes boto3's low-level client for ``dynamodb``; again in a forked child.
    :param name: the table's name.
    :param clock: hears the time of every answer.
    :param description: how errors name the place.
    """

    def __init__(self, make_client: Callable[[], Any], name: str, clock: ServiceClock, description: str) -> None:
        self.name, self.clock, self.description = name, clock, description
        self._make_client = make_client
        self._client: tuple[int, Any] | None = None
        self.requests: Counter[str] = Counter()
        """How many requests were sent, by operation; refused and throttled ones also under those words."""
        self._counting = threading.Lock()

    @property
    def client(self) -> Any:
        """This process's client; its connections are not shared with a parent."""
        if self._client is not None and self._client[0] != os.getpid():
            self._counting = threading.Lock()  # the parent's may have been held by a thread that does not exist here
        with self._counting:
            if self._client is None or self._client[0] != os.getpid():
                self._client = (os.getpid(), self._make_client())
            return self._client[1]

    def close(self) -> None:
        """Give the connections back; the next request makes new ones."""
        with self._counting:
            client, self._client = self._client, None
        if client is not None and client[0] == os.getpid():
            client[1].close()

    def send(self, call: Call, operation: str, **arguments: Any) -> dict[str, Any]:
        """Send one request, and return its answer.

        :raises CoordinationError: one of the port's, with the service's own as its cause.
        """
        if operation in _READS:
            call = replace(call, writes=False)
        self._count(operation)
        try:
            answer: dict[str, Any] = getattr(self.client, operation)(**arguments)
        except ClientError as error:
            self._hear(error.response)
            raise self._meaning(error, call, operation) from error
        except (BotoCoreError, HTTPClientError) as error:
            raise self._unheard(error, call) from error
        self._hear(answer)
        return answer

    def attempt(self, call: Call, operation: str, **arguments: Any) -> dict[str, Any] | Refusal:
        """Send a conditional write of one item; return its answer, or the item that refused it."""
        return self._conditional(
            call, operation, TableName=self.name, ReturnValuesOnConditionCheckFailure="ALL_OLD", **arguments
        )

    def transact(self, call: Call, changes: list[dict[str, Any]]) -> Refusal | None:
        """Write several items in one transaction; return which one's condition refused it, ``None`` when none did."""
        items = [
            {kind: {"TableName": self.name, **_showing(arguments)} for kind, arguments in change.items()}
            for change in changes
        ]
        answer = self._conditional(call, "transact_write_items", TransactItems=items)
        return answer if isinstance(answer, Refusal) else None

    def _conditional(self, call: Call, operation: str, **arguments: Any) -> dict[str, Any] | Refusal:
        try:
            return self.send(call, operation, **arguments)
        except CoordinationError as error:
            refusal = _refused_by(error.__cause__)
            if refusal is None:
                raise
            self._count("refused")
            return refusal

    def get(self, call: Call, key: Mapping[str, Any]) -> Item | None:
        """Return one item, read so that every acknowledged write is seen."""
        found = self.send(call, "get_item", TableName=self.name, Key=key, ConsistentRead=True).get("Item")
        return plain(found) if found else None

    def get_many(self, call: Call, keys: list[dict[str, Any]]) -> Iterator[Item]:
        """Yield items, at most 100 keys at a time, read so that every acknowledged write is seen."""
        wanted = {self.name: {"Keys": keys, "ConsistentRead": True}}
        while wanted:
            answer = self.send(call, "batch_get_item", RequestItems=wanted)
            yield from (plain(item) for item in answer["Responses"].get(self.name, ()))
            left = answer.get("UnprocessedKeys") or {}
            if left == wanted:
                raise call.unavailable(f"{self.description}: the table is throttled")
            wanted = left

    def pages(self, call: Call, size: int | None, **arguments: Any) -> Iterator[list[Item]]:
        """Yield a query's items, page by page; the next page is asked for when it is wanted.

        :param size: items read for a page, before any filter; as many as the service gives when ``None``.
        """
        for answer in self._answers(call, size, **arguments):
            yield [plain(item) for item in answer["Items"]]

    def count(self, call: Call, limit: int, **arguments: Any) -> int:
        """Return how many items a query finds, counting no further than ``limit``."""
        return int(next(self._answers(call, limit, Select="COUNT", **arguments))["Count"])

    def _answers(self, call: Call, size: int | None, **arguments: Any) -> Iterator[dict[str, Any]]:
        bound = {"Limit": size} if size is not None else {}
        start: dict[str, Any] = {}
        while True:
            answer = self.send(call, "query", TableName=self.name, **arguments, **bound, **start)
            yield answer
            if "LastEvaluatedKey" not in answer:
                return
            start = {"ExclusiveStartKey": answer["LastEvaluatedKey"]}

    def _count(self, what: str) -> None:
        with self._counting:
            self.requests[what] += 1

    def _hear(self, answer: Mapping[str, Any]) -> None:
        headers = answer.get("ResponseMetadata", {}).get("HTTPHeaders", {})
        self.clock.hear(headers.get("date"))

    def _meaning(self, error: ClientError, call: Call, operation: str) -> CoordinationError:
        code, message = _code(error), _message(error)
        where = f"{self.description}: {message or code}"
        if cannot := _never_by(error):
            return call.refused(f"{self.description}: {cannot}")
        if code in _THROTTLED or (code in _NOT_NOW and _THROTTLES.search(message)):
            self._count("throttled")
            return call.throttled(where)
        if code in _NOT_NOW:
            return call.unavailable(where)
        status = error.response["ResponseMetadata"].get("HTTPStatusCode", 500)
        if status >= 500 or code == "TransactionInProgressException":
            return call.lost(where)
        return self._settings_problem(error, call, operation) or call.refused(where)

    def _settings_problem(self, error: ClientError, call: Call, operation: str) -> CoordinationError | None:
        """Return the error for what repeating cannot cure, ``None`` when it is something about this one request."""
        code, message = _code(error), _message(error)
        if error.operation_name == "AssumeRole":
            remedy = "Check the role's trust policy and sts_external_id"
            return SettingsError("sts_role_arn", self.description, f"cannot be assumed: {message or code}", remedy)
        if code in _DENIED:
            return self._denied(call, operation, message)
        if code in _WHO:
            remedy = "Set this machine's clock" if _CLOCK.search(message) else "Check credentials"
            return SettingsError("store", self.description, f"cannot be used: {message or code}", remedy)
        if code in _SHAPES and _SHAPE.search(message):
            remedy = "Use another table_name; the table that Data Prepper or this package makes by itself fits"
            return SchemaVersionError(self.description, f"the table has another shape: {message}", remedy)
        if code == "ResourceNotFoundException":
            return no_schema(self.description, "there is no such table in this region and account")
        return None

    def _denied(self, call: Call, operation: str, message: str) -> CoordinationError:
        named = _ACTION.search(message)
        action = named[0] if named else "dynamodb:" + "".join(part.capitalize() for part in operation.split("_"))
        remedy = f"Allow {action}; see `{TYPED} iam` for what this role needs"
        return call.refused(f"{self.description} denies it: {message}", remedy)

    def _unheard(self, error: Exception, call: Call) -> CoordinationError:
        where = f"{self.description}: {error}"
        if isinstance(error, _NO_CREDENTIALS):
            problem = f"cannot be used: {str(error).rstrip('.')}"
            return SettingsError("store", self.description, problem, "Give credentials and a region")
        if isinstance(error, ParamValidationError):
            return call.refused(where)
        return call.unavailable(where) if isinstance(error, _NOT_SENT) else call.lost(where)


def _showing(write: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a write of a transaction; where it has a condition, the item that refuses it is in the answer."""
    shows = {"ReturnValuesOnConditionCheckFailure": "ALL_OLD"} if "ConditionExpression" in write else {}
    return {**write, **shows}


def _code(error: ClientError) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))


def _message(error: ClientError) -> str:
    return str(error.response.get("Error", {}).get("Message", "")).rstrip(".")


def _never_by(error: ClientError) -> str | None:
    """Return why a cancelled transaction can never be applied, ``None`` when it may be another time."""
    for reason in error.response.get("CancellationReasons") or ():
        if reason.get("Code") in _NEVER:
            return str(reason.get("Message") or reason["Code"]).rstrip(".")
    return None


def _refused_by(error: BaseException | None) -> Refusal | None:
    """Return the refusal that an exception of the service is, ``None`` when it is something else."""
    if not isinstance(error, ClientError):
        return None
    if _code(error) == "ConditionalCheckFailedException":
        item = error.response.get("Item")
        return Refusal(plain(item) if item else None)
    for index, reason in enumerate(error.response.get("CancellationReasons") or ()):
        if reason.get("Code") == "ConditionalCheckFailed":
            item = reason.get("Item")
            return Refusal(plain(item) if item else None, index)
    return None
