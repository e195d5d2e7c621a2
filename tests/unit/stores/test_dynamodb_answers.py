"""What a store makes of each answer a service can give: botocore reads them from a server that says what it is told."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from boto3.dynamodb.conditions import Attr

from airflow_coordination.stores.calls import Call
from airflow_coordination.stores.dynamodb.changes import Change
from airflow_coordination.stores.dynamodb.client import make_client
from airflow_coordination.stores.dynamodb.options import DynamoDBOptions
from airflow_coordination.stores.dynamodb.partitions import Partitions
from airflow_coordination.stores.dynamodb.requests import Refusal, ServiceClock, Table
from airflow_coordination.values.errors import (
    OutcomeUnknownError,
    PartitionUpdateError,
    SchemaVersionError,
    StoreThrottledError,
    StoreUnavailableError,
)
from airflow_coordination.values.input_errors import CoordinationError, SettingsError

DATE = "Thu, 01 Jan 2026 00:00:00 GMT"
KEY = {"sourceIdentifier": {"S": "s"}, "sourcePartitionKey": {"S": "k"}}
WRITE, READ = Call("complete", "k"), Call("read a partition", "k", writes=False)


@dataclass
class Service:
    """Answers every request the same.

    :param status: of HTTP.
    :param body: as text.
    :param headers: beside the content type.
    """

    status: int = 200
    body: str = "{}"
    headers: dict[str, str] = field(default_factory=lambda: {"Date": DATE})
    url: str = ""

    def says(self, code: str, message: str = "", status: int = 400, **more: Any) -> None:
        """Answer with an error as the service writes it."""
        kind = f"com.amazonaws.dynamodb.v20120810#{code}"
        self.status, self.body = status, json.dumps({"__type": kind, "message": message, **more})


@pytest.fixture(scope="module")
def running() -> Iterator[Service]:
    service = Service()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            body = service.body.encode()
            self.send_response_only(service.status)
            headers = {"Content-Type": "application/x-amz-json-1.0", "Content-Length": str(len(body))}
            for name, value in (headers | service.headers).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        service.url = f"http://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield service
        server.shutdown()


@pytest.fixture(scope="module")
def client(running: Service) -> Any:
    return make_client(DynamoDBOptions(table_name="any", region="us-east-1", endpoint_url=running.url))


@pytest.fixture
def service(running: Service) -> Service:
    running.__init__(url=running.url)  # type: ignore[misc]
    return running


@pytest.fixture
def table(client: Any, service: Service) -> Table:
    return Table(lambda: client, "any", ServiceClock(), "dynamodb://any")


def write(table: Table) -> Any:
    return table.attempt(WRITE, "update_item", Key=KEY, UpdateExpression="SET a = :a")


THROTTLES = [
    ("ProvisionedThroughputExceededException", "The level of configured provisioned throughput was exceeded."),
    ("ThrottlingException", "Rate exceeded"),
    ("RequestLimitExceeded", "Throughput exceeds the current throughput limit for your account."),
    ("TransactionCanceledException", "Transaction cancelled, … specific reasons [None, ThrottlingError]"),
    ("TransactionCanceledException", "Transaction cancelled, … specific reasons [ProvisionedThroughputExceeded, None]"),
]


@pytest.mark.parametrize(("code", "message"), THROTTLES)
def test_throttling_is_an_error_of_its_own_and_is_counted(
    table: Table, service: Service, code: str, message: str
) -> None:
    service.says(code, message)
    with pytest.raises(StoreThrottledError) as raised:
        write(table)
    assert str(raised.value).startswith("The store has no capacity left to complete 'k': dynamodb://any: ")
    assert table.requests == {"update_item": 1, "throttled": 1}


NOT_NOW = [
    ("TransactionConflictException", "Transaction is ongoing for the item"),
    ("TransactionCanceledException", "Transaction cancelled, … specific reasons [TransactionConflict, None]"),
]


@pytest.mark.parametrize(("code", "message"), NOT_NOW)
def test_a_conflict_is_surely_not_applied_and_repeated(table: Table, service: Service, code: str, message: str) -> None:
    service.says(code, message)
    with pytest.raises(StoreUnavailableError) as raised:
        write(table)
    assert not isinstance(raised.value, StoreThrottledError)
    assert "throttled" not in table.requests


UNKNOWN = [
    ("InternalServerError", 500),
    ("ServiceUnavailable", 503),
    ("TransactionInProgressException", 400),
]


@pytest.mark.parametrize(("code", "status"), UNKNOWN)
def test_an_answer_that_does_not_tell_leaves_a_write_open(
    table: Table, service: Service, code: str, status: int
) -> None:
    service.says(code, "oops", status)
    with pytest.raises(OutcomeUnknownError, match="complete 'k'"):
        write(table)
    with pytest.raises(StoreUnavailableError, match="read a partition 'k'"):
        table.get(READ, KEY)


def test_a_page_of_html_from_a_gateway_leaves_a_write_open(table: Table, service: Service) -> None:
    service.status, service.body = 502, "<html>Bad Gateway</html>"
    with pytest.raises(OutcomeUnknownError):
        write(table)


SETTINGS = [
    ("ExpiredTokenException", "The security token included in the request is expired", "Check credentials"),
    ("UnrecognizedClientException", "The security token included in the request is invalid.", "Check credentials"),
    ("InvalidSignatureException", "The request signature we calculated does not match", "Check credentials"),
    (
        "InvalidSignatureException",
        "Signature expired: 20260101T000000Z is now earlier than 20260102T000000Z (20260102T001500Z - 15 min.)",
        "Set this machine's clock",
    ),
    ("InvalidSignatureException", "Signature not yet current: 20260102T000000Z", "Set this machine's clock"),
]


@pytest.mark.parametrize(("code", "message", "remedy"), SETTINGS)
def test_credentials_that_do_not_count_are_named(
    table: Table, service: Service, code: str, message: str, remedy: str
) -> None:
    service.says(code, message)
    with pytest.raises(SettingsError) as raised:
        write(table)
    assert str(raised.value) == f"store='dynamodb://any': cannot be used: {message.rstrip('.')}. {remedy}"


def test_a_missing_permission_names_the_action(table: Table, service: Service) -> None:
    message = "User: arn:aws:iam::1:user/x is not authorized to perform: dynamodb:UpdateItem on resource: …"
    service.says("AccessDeniedException", message)
    with pytest.raises(PartitionUpdateError, match="Allow dynamodb:UpdateItem; see `airflow coordination iam`"):
        write(table)


SHAPES = [
    ("ValidationException", "The provided key element does not match the schema"),
    ("ValidationException", "The number of conditions on the keys is invalid"),
    ("ValidationException", "The table does not have the specified index: source-status"),
]


@pytest.mark.parametrize(("code", "message"), SHAPES)
def test_a_table_of_another_shape_says_what_fits(table: Table, service: Service, code: str, message: str) -> None:
    service.says(code, message)
    with pytest.raises(SchemaVersionError) as raised:
        table.get(READ, KEY)
    assert f"the table has another shape: {message}. Use another table_name" in str(raised.value)


def test_no_table_says_how_to_make_it(table: Table, service: Service) -> None:
    service.says("ResourceNotFoundException", "Requested resource not found")
    with pytest.raises(SchemaVersionError, match=r"no such table in this region and account\. Run `airflow coord"):
        write(table)


def test_anything_else_is_the_services_own_word(table: Table, service: Service) -> None:
    service.says("ValidationException", "Item size has exceeded the maximum allowed size")
    with pytest.raises(PartitionUpdateError, match=r"Cannot complete partition 'k': .* Item size has exceeded"):
        write(table)


def test_a_refusal_brings_the_item(table: Table, service: Service) -> None:
    service.says("ConditionalCheckFailedException", "The conditional request failed", Item={"a": {"S": "b"}})
    assert write(table) == Refusal({"a": "b"})
    service.says("ConditionalCheckFailedException", "The conditional request failed")
    assert write(table) == Refusal(None)


def test_of_a_cancelled_transaction_only_a_failed_condition_is_a_refusal(table: Table, service: Service) -> None:
    reasons = [{"Code": "None"}, {"Code": "ConditionalCheckFailed", "Item": {"a": {"S": "b"}}}]
    service.says("TransactionCanceledException", "Transaction cancelled, …", CancellationReasons=reasons)
    changes = [{"Update": {"Key": KEY, "UpdateExpression": "SET a = :a"}}]
    assert table.transact(WRITE, changes) == Refusal({"a": "b"}, index=1)


def test_s6_a_conflict_is_no_refusal(table: Table, service: Service) -> None:
    """S6: another transaction was under way on an item; this one was not applied, and may be when it is repeated."""
    reasons = [{"Code": "TransactionConflict"}, {"Code": "None"}]
    service.says("TransactionCanceledException", "Transaction cancelled, …", CancellationReasons=reasons)
    with pytest.raises(StoreUnavailableError):
        table.transact(WRITE, [{"Update": {"Key": KEY, "UpdateExpression": "SET a = :a"}}])


def test_another_items_refusal_is_not_taken_for_the_partitions(table: Table, service: Service) -> None:
    reasons = [{"Code": "None"}, {"Code": "ConditionalCheckFailed", "Item": {"a": {"S": "b"}}}]
    service.says("TransactionCanceledException", "Transaction cancelled, …", CancellationReasons=reasons)
    change, other = Change({"a": 1}, Attr("a").not_exists()), {"Put": {"Item": KEY}}
    with pytest.raises(PartitionUpdateError, match="write 2 of a transaction was refused"):
        Partitions(table).change(WRITE, "s", "k", change, [other])


def test_a_transaction_that_can_never_be_applied_is_not_repeated(table: Table, service: Service) -> None:
    reasons = [{"Code": "None"}, {"Code": "ValidationError", "Message": "Item size has exceeded the maximum."}]
    service.says("TransactionCanceledException", "Transaction cancelled, …", CancellationReasons=reasons)
    with pytest.raises(PartitionUpdateError, match="Item size has exceeded the maximum"):
        table.transact(WRITE, [{"Update": {"Key": KEY, "UpdateExpression": "SET a = :a"}}])


@pytest.mark.parametrize("date", [None, "", "yesterday", "Thu, 99 Jan 2026 00:00:00 GMT"])
def test_an_answer_without_a_time_is_an_answer_all_the_same(table: Table, service: Service, date: str | None) -> None:
    service.headers = {} if date is None else {"Date": date}
    write(table)
    with pytest.raises(StoreUnavailableError, match="learn the service's time: no answer has said it yet"):
        table.clock.now()
    service.headers = {"Date": DATE}
    write(table)
    assert f"{table.clock.now():%d.%m.%Y}" == "01.01.2026"


def test_a_refusal_tells_the_time_too(table: Table, service: Service) -> None:
    service.says("ThrottlingException")
    with pytest.raises(StoreThrottledError):
        write(table)
    assert table.clock.is_set


NOT_SET = [
    ({"AWS_PROFILE": "nobodys"}, "The config profile (nobodys) could not be found"),
    ({"AWS_ACCESS_KEY_ID": None, "AWS_SECRET_ACCESS_KEY": None}, "Unable to locate credentials"),
    ({"AWS_SECRET_ACCESS_KEY": None}, "Partial credentials found in env, missing: AWS_SECRET_ACCESS_KEY"),
]


@pytest.mark.parametrize(("variables", "problem"), NOT_SET)
def test_an_environment_without_credentials(
    monkeypatch: pytest.MonkeyPatch, service: Service, variables: dict[str, str | None], problem: str
) -> None:
    for name, value in variables.items():
        monkeypatch.delenv(name) if value is None else monkeypatch.setenv(name, value)
    options = DynamoDBOptions(table_name="any", region="us-east-1", endpoint_url=service.url)
    table = Table(lambda: make_client(options), "any", ServiceClock(), "dynamodb://any")
    with pytest.raises(SettingsError) as raised:
        write(table)
    assert str(raised.value) == f"store='dynamodb://any': cannot be used: {problem}. Give credentials and a region"


def test_an_environment_without_a_region(service: Service) -> None:
    options = DynamoDBOptions(table_name="any", endpoint_url=service.url)
    table = Table(lambda: make_client(options), "any", ServiceClock(), "dynamodb://any")
    with pytest.raises(SettingsError, match=r"You must specify a region\. Give credentials and a region"):
        write(table)


def test_nobody_at_the_address_is_surely_not_applied() -> None:
    options = DynamoDBOptions(table_name="any", region="us-east-1", endpoint_url="http://127.0.0.1:9")
    table = Table(lambda: make_client(options), "any", ServiceClock(), "dynamodb://any")
    with pytest.raises(StoreUnavailableError, match="Could not connect to the endpoint URL") as raised:
        write(table)
    assert isinstance(raised.value, CoordinationError)
