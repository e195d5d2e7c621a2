"""DynamoDB in this process and in virtual time: what the store asks of boto3's low-level client, and nothing else.

>>> engine = Engine(clock.now)
>>> store = DynamoDBStore(options, client=lambda _: engine)

No threads, no I/O, nothing random of its own. What it does not know it refuses with :class:`NotImplementedError`;
that it does the rest as DynamoDB does is shown by ``tests/integration/engines/test_simulated_engine.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from email.utils import format_datetime
from functools import wraps
from types import SimpleNamespace
from typing import Any

import botocore.session
from botocore import xform_name
from botocore.errorfactory import ClientExceptionsFactory

from tests.simulation.dynamodb import reads
from tests.simulation.dynamodb.rejections import Rejected, invalid, no_table
from tests.simulation.dynamodb.schemas import Key
from tests.simulation.dynamodb.tables import Table
from tests.simulation.dynamodb.transactions import transaction
from tests.simulation.dynamodb.writes import ARGUMENTS, Request, planned

_MODEL = botocore.session.get_session().get_service_model("dynamodb")
_METHODS = {xform_name(name): name for name in _MODEL.operation_names}
_EXCEPTIONS = ClientExceptionsFactory().create_client_exceptions(_MODEL)
_EXPRESSED = frozenset({"TableName", "ExpressionAttributeNames", "ExpressionAttributeValues"})
_READING = _EXPRESSED | {"FilterExpression", "ProjectionExpression", "Limit", "ExclusiveStartKey", "ConsistentRead"}

Body = dict[str, Any]


def _operation(*known: str) -> Callable[[Callable[[Engine, Request], Body]], Callable[..., Body]]:
    """Make a client's method of what answers a request.

    :param known: the arguments it takes.
    """
    arguments = frozenset(known)

    def made(method: Callable[[Engine, Request], Body]) -> Callable[..., Body]:
        @wraps(method)
        def answered(self: Engine, **request: Any) -> Body:
            if not arguments.issuperset(request):
                raise NotImplementedError(f"{method.__name__} with {', '.join(sorted(request.keys() - arguments))}")
            try:
                body = method(self, request)
            except Rejected as rejected:
                raise self._error(method.__name__, rejected) from None
            body["ResponseMetadata"] = self._metadata(200)
            return body

        return answered

    return made


class Engine:
    """Tables, and boto3's low-level client for them.

    :param now: the service's time.
    :param delay: draws how many seconds a change takes until an index shows it.
    """

    exceptions = _EXCEPTIONS
    meta = SimpleNamespace(endpoint_url="http://engine.invalid", method_to_api_mapping=_METHODS)

    def __init__(self, now: Callable[[], datetime], delay: Callable[[], float] = lambda: 0.0) -> None:
        self._now, self._delay = now, delay
        self.tables: dict[str, Table] = {}
        self._date: tuple[datetime | None, str] = (None, "")

    def expire(self) -> list[Key]:
        """Be the service's TTL: delete what has expired, and return the keys."""
        return [key for table in self.tables.values() for key in table.expire()]

    def catch_up(self) -> None:
        """Let the indexes show everything."""
        for table in self.tables.values():
            for index in table.indexes.values():
                index.bring(everything=True)

    @_operation("TableName", "Key", "ConsistentRead")
    def get_item(self, request: Request) -> Body:
        """Return an item."""
        reads.check_fresh(request)
        found = reads.get(self._table(request), request["Key"])
        return {} if found is None else {"Item": found}

    @_operation(*ARGUMENTS["Put"])
    def put_item(self, request: Request) -> Body:
        """Put an item."""
        planned("Put", self._table(request), request).apply()
        return {}

    @_operation(*ARGUMENTS["Update"], "ReturnValues")
    def update_item(self, request: Request) -> Body:
        """Update an item; one that is absent is made."""
        write = planned("Update", self._table(request), request)
        returned = {"NONE": None, "ALL_OLD": write.before, "ALL_NEW": write.after}[request.get("ReturnValues", "NONE")]
        write.apply()
        return {"Attributes": dict(returned.item)} if returned else {}

    @_operation(*ARGUMENTS["Delete"], "ReturnValues")
    def delete_item(self, request: Request) -> Body:
        """Delete an item; one that is absent is no error."""
        write = planned("Delete", self._table(request), request)
        returned = {"NONE": None, "ALL_OLD": write.before}[request.get("ReturnValues", "NONE")]
        write.apply()
        return {"Attributes": dict(returned.item)} if returned else {}

    @_operation("TransactItems")
    def transact_write_items(self, request: Request) -> Body:
        """Apply all writes or none."""
        for write in transaction(request["TransactItems"], self._table):
            write.apply()
        return {}

    @_operation("RequestItems")
    def batch_get_item(self, request: Request) -> Body:
        """Return several items of one table."""
        [(name, wanted)] = request["RequestItems"].items()
        reads.check_fresh(wanted)
        found = reads.get_many(self._table({"TableName": name}), wanted["Keys"])
        return {"Responses": {name: found}, "UnprocessedKeys": {}}

    @_operation(*_READING, "KeyConditionExpression", "IndexName", "Select", "ScanIndexForward")
    def query(self, request: Request) -> Body:
        """Return a page of what has one hash key, in the order of the range key."""
        return reads.query(self._table(request), request)

    @_operation(*_READING)
    def scan(self, request: Request) -> Body:
        """Return a page of everything."""
        return reads.scan(self._table(request), request)

    @_operation(
        "TableName",
        "AttributeDefinitions",
        "KeySchema",
        "GlobalSecondaryIndexes",
        "BillingMode",
        "ProvisionedThroughput",
    )
    def create_table(self, request: Request) -> Body:
        """Make a table, which can be used at once."""
        name = request["TableName"]
        if name in self.tables:
            raise Rejected("ResourceInUseException", "Cannot create preexisting table")
        self.tables[name] = Table(request, self._now, self._delay)
        return {"TableDescription": _description(self.tables[name])}

    @_operation("TableName")
    def describe_table(self, request: Request) -> Body:
        """Describe a table."""
        return {"Table": _description(self._table(request))}

    @_operation("TableName")
    def delete_table(self, request: Request) -> Body:
        """Delete a table."""
        description = _description(self._table(request))
        del self.tables[request["TableName"]]
        return {"TableDescription": description}

    @_operation("TableName")
    def describe_time_to_live(self, request: Request) -> Body:
        """Say whether TTL is enabled."""
        attribute = self._table(request).ttl
        on = {"TimeToLiveStatus": "ENABLED", "AttributeName": attribute}
        return {"TimeToLiveDescription": {"TimeToLiveStatus": "DISABLED"} if attribute is None else on}

    @_operation("TableName", "TimeToLiveSpecification")
    def update_time_to_live(self, request: Request) -> Body:
        """Enable TTL, or disable it."""
        table, wanted = self._table(request), request["TimeToLiveSpecification"]
        if wanted["Enabled"] == (table.ttl is not None):
            raise invalid(f"TimeToLive is already {'enabled' if table.ttl is not None else 'disabled'}")
        table.ttl = wanted["AttributeName"] if wanted["Enabled"] else None
        return {"TimeToLiveSpecification": wanted}

    def get_waiter(self, name: str) -> Any:
        """Return what waits for a table to exist: it does."""
        if name != "table_exists":
            raise NotImplementedError(f"the waiter {name}")
        return SimpleNamespace(wait=lambda TableName, WaiterConfig: self.describe_table(TableName=TableName))  # noqa: N803

    def close(self) -> None:
        """Give nothing back; the tables stay for the other clients."""

    def _table(self, request: Request) -> Table:
        try:
            return self.tables[request["TableName"]]
        except KeyError:
            raise no_table() from None

    def _metadata(self, status: int) -> Body:
        return {
            "RequestId": "0",
            "HTTPStatusCode": status,
            "HTTPHeaders": {"date": self._header()},
            "RetryAttempts": 0,
        }

    def _header(self) -> str:
        """Return the time as HTTP says it, in whole seconds."""
        second = self._now().replace(microsecond=0)
        if self._date[0] != second:
            self._date = (second, format_datetime(second, usegmt=True))
        return self._date[1]

    def _error(self, method: str, rejected: Rejected) -> Exception:
        error = {"Code": rejected.code, "Message": rejected.message}
        response = {"Error": error, "ResponseMetadata": self._metadata(400), **rejected.more}
        made: Exception = self.exceptions.from_code(rejected.code)(response, _METHODS[method])
        return made


def _description(table: Table) -> Body:
    described = table.described
    indexes = [{**index, "IndexStatus": "ACTIVE"} for index in described.get("GlobalSecondaryIndexes", ())]
    return {
        **{name: described[name] for name in ("TableName", "AttributeDefinitions", "KeySchema")},
        "TableStatus": "ACTIVE",
        "BillingModeSummary": {"BillingMode": described.get("BillingMode", "PROVISIONED")},
        **({"GlobalSecondaryIndexes": indexes} if indexes else {}),
    }
