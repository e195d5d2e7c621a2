"""The bulk end point over HTTP, against a real server on this machine."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from datetime import timedelta
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

import pytest

from airflow_coordination.sinks import HttpSink
from airflow_coordination.systems.sink import AnswerKind
from airflow_coordination.testing.sinks import SinkConformance, deliver, sink_task
from airflow_coordination.values.input_errors import InvalidInputError
from airflow_coordination.values.scrubbing import without_known

SOON = timedelta(milliseconds=300)


class Server(ThreadingHTTPServer):
    """Takes records, but none whose value is "bad".

    :ivar script: what it does with the next requests before it becomes itself again: a status, or "cut",
        "cut after" (it has taken them), or "hang"; or a status and what its text does then: "stalls", or "is cut".
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.script: list[int | str | tuple[int, str]] = []
        self.most = 1_000
        self.taken: list[dict] = []
        self.requests: list[dict] = []
        self.released = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/bulk"

    def handle_error(self, *_) -> None:
        """A client that has gone is no error here."""


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        records = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append({"headers": dict(self.headers), "records": records})
        todo = self.server.script.pop(0) if self.server.script else self._judge(records)
        if todo == "hang":
            self.server.released.wait(30)
        if todo == "cut after":
            self.server.taken += records
        if isinstance(todo, str):
            self.close_connection = True
            return
        if isinstance(todo, tuple):
            self._break_off(*todo)
            return
        if todo == 201:
            self.server.taken += records
        self.send_response(todo)
        if 300 <= todo < 400:
            self.send_header("Location", f"{self.server.url}/login")
        self.end_headers()
        self.wfile.write(b"" if todo == 201 else b"it says why")

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()

    def _break_off(self, status: int, text: str) -> None:
        self.send_response(status)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.wfile.write(b"40\r\nit says")
        if text == "stalls":
            self.server.released.wait(30)

    def _judge(self, records: list[dict]) -> int:
        if len(records) > self.server.most:
            return 413
        return 422 if any(record.get("value") == "bad" for record in records) else 201

    def log_message(self, *_) -> None:
        """Stay silent."""


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.released.set()
        server.shutdown()
        thread.join()


@pytest.fixture
def sink(server):
    return HttpSink(server.url, timeout=timedelta(seconds=5))


class TestHttp(SinkConformance):
    bad_record: ClassVar = {"id": 3, "value": "bad"}

    @pytest.fixture
    def sink(self, sink):
        return sink

    @pytest.fixture
    def stored(self, server):
        return lambda: [(record["id"], record["value"]) for record in server.taken]


RECORDS = [{"id": number, "value": "x"} for number in range(4)]


@pytest.mark.parametrize("trouble", [429, 503, 408, "cut"])
def test_s13_what_is_transient_is_repeated(server, sink, trouble):
    server.script = [trouble, trouble]
    assert [answer.kind for answer in deliver(sink, RECORDS)] == [AnswerKind.DELIVERED] * 4
    assert (len(server.requests), server.taken) == (3, RECORDS)


def test_s13_a_request_that_is_never_answered_is_given_up(server):
    server.script = ["hang"] * 100
    answers = deliver(HttpSink(server.url, timeout=timedelta(milliseconds=100), retry_for=SOON), RECORDS)
    assert {answer.kind for answer in answers} == {AnswerKind.FAILED}
    assert "timed out" in answers[0].reason


def test_s13_an_end_point_that_is_away_is_no_refusal(server):
    server.script = [503] * 1_000
    answers = deliver(HttpSink(server.url, retry_for=SOON), RECORDS)
    assert {(answer.kind, answer.reason) for answer in answers} == {
        (AnswerKind.FAILED, "503 Service Unavailable: it says why")
    }


@pytest.mark.parametrize("text", ["stalls", "is cut"])
@pytest.mark.parametrize(
    ("status", "kind", "requests"),
    [(503, AnswerKind.DELIVERED, 2), (401, AnswerKind.FAILED, 1), (422, AnswerKind.REFUSED, 1)],
)
def test_s13_an_answer_whose_text_does_not_arrive_is_told_by_its_status(server, status, kind, requests, text):
    """A server that is overloaded says so, and then often nothing more."""
    server.script = [(status, text)]
    [answer] = deliver(HttpSink(server.url, timeout=timedelta(milliseconds=300)), RECORDS[:1])
    assert (answer.kind, len(server.requests)) == (kind, requests)
    assert answer.reason == ("" if status == 503 else f"{status} {HTTPStatus(status).phrase}")


@pytest.mark.parametrize("status", [301, 302, 303, 307, 401, 403, 404])
def test_s13_a_request_that_may_not_be_made_is_nobody_s_record(server, sink, status):
    server.script = [status]
    answers = deliver(sink, RECORDS)
    assert {answer.kind for answer in answers} == {AnswerKind.FAILED}
    assert len(server.requests) == 1, "there is no use in halving the bulk"


def test_the_records_that_are_to_blame_are_found(server, sink):
    records = [{"id": number, "value": "bad" if number in (3, 90) else "x"} for number in range(100)]
    answers = deliver(sink, [*records, {"id": 100, "value": float("nan")}])
    assert [number for number, answer in enumerate(answers) if answer.kind is AnswerKind.REFUSED] == [3, 90, 100]
    assert (len(server.taken), answers[3].reason) == (98, f"422 {HTTPStatus(422).phrase}: it says why")


def test_small_x9_a_bulk_that_is_too_large_is_halved_until_it_fits(server, sink):
    server.most = 3
    answers = deliver(sink, [{"id": number, "value": "x"} for number in range(10)])
    assert [answer.kind for answer in answers] == [AnswerKind.DELIVERED] * 10
    assert [record["id"] for record in server.taken] == list(range(10))


def test_a_bulk_whose_answer_was_lost_is_there_twice(server, sink):
    server.script = ["cut after"]
    assert [answer.kind for answer in deliver(sink, RECORDS)] == [AnswerKind.DELIVERED] * 4
    assert server.taken == RECORDS * 2


def test_requests_tell_partition_and_fence(server):
    sink = HttpSink(server.url, headers={"Authorization": "Bearer secret-of-the-sink"})
    deliver(sink, RECORDS, sink_task(token=8, partition_id="store/s/ä\n"))
    headers = server.requests[0]["headers"]
    assert (headers["X-Lease-Fence"], headers["X-Lease-Partition"]) == ("8", "store/s/\\xe4\\n")
    assert headers["Authorization"] == "Bearer secret-of-the-sink"


def test_x4_headers_are_in_no_text():
    sink = HttpSink("http://host/", headers={"Authorization": "Bearer secret-of-another"})
    assert "secret" not in repr(sink)
    assert "secret-of-another" not in without_known("Bearer secret-of-another")


@pytest.mark.parametrize("answer", ["Bearer t0ken-of-x5", "t0ken-of-x5", "0pen-sesame-x5"])
def test_small_x5_a_token_is_a_secret_without_its_scheme_too(answer):
    """A server that refuses a token says which: often without "Bearer", and of a user's password alone."""
    basic = base64.b64encode(b"etl:0pen-sesame-x5").decode()
    HttpSink("http://host/", headers={"Authorization": "Bearer t0ken-of-x5", "X-Other": f"Basic {basic}"})
    assert answer.split()[-1] not in without_known(f"401 unknown {answer}.")
    assert without_known("Bearer is a word, and so is Basic") == "Bearer is a word, and so is Basic"


def test_z4_only_the_columns_that_are_named_are_sent(server):
    sink = HttpSink(server.url, columns=("value",))
    deliver(sink, RECORDS)
    assert server.taken == [{"value": "x"}] * 4


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"headers": ["a"]}, r"headers='\*\*\*': is no mapping of names to texts"),
        (
            {"headers": {"A": "Bearer b\n"}},
            r"headers\['A'\]='\*\*\*': is no text .* wants strip\(\)",
        ),
        ({"headers": {"A": "b–c"}}, r"headers\['A'\]='\*\*\*': is no text that a header can hold"),
        ({"headers": {"A": 7}}, r"headers\['A'\]='\*\*\*': is no text that a header can hold"),
        ({"url": "http://host/ä"}, r"url='\*\*\*': holds a space, or a letter that no URL may hold"),
        ({"columns": "value"}, "columns='value': is no list of one or more different names of columns"),
        ({"columns": ()}, "is no list of one or more different names of columns"),
        ({"columns": ("a", "a")}, "is no list of one or more different names of columns"),
        ({"url": "ftp://host/"}, "is no address of HTTP. Give http"),
        ({"url": None}, "is no address of HTTP"),
        ({"url": "http://me:hunter2@host/"}, r"url='\*\*\*': holds a user's name or password"),
        ({"timeout": timedelta(0)}, "timeout=.*is zero"),
        ({"retry_for": timedelta(-1)}, "retry_for=.*is negative"),
        ({"bulk_records": 0}, "bulk_records=0"),
    ],
)
def test_bad_arguments(arguments, problem):
    with pytest.raises(InvalidInputError, match=problem):
        HttpSink(**{"url": "http://host/"} | arguments)
