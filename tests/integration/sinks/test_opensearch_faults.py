"""The index sink while requests and answers are spoilt on their way to a real node."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

import pytest
from opensearchpy import OpenSearch

from airflow_coordination.sinks import OpenSearchSink
from airflow_coordination.systems.sink import AnswerKind
from airflow_coordination.testing.sinks import deliver, sink_task
from tests.integration.sinks.proxies import proxy

SOON = timedelta(milliseconds=300)
DELIVERED, REFUSED, FAILED = AnswerKind.DELIVERED, AnswerKind.REFUSED, AnswerKind.FAILED
RECORDS = [{"id": number, "value": "x"} for number in range(6)]


@pytest.fixture
def between(opensearch_node):
    with proxy(opensearch_node) as server:
        yield server


@pytest.fixture
def sink(between) -> OpenSearchSink:
    sink = OpenSearchSink(between.url, f"faults-{uuid4().hex}", timeout=timedelta(seconds=20))
    sink.setup()
    return sink


@pytest.fixture
def stored(opensearch_node, sink):
    def look() -> dict[int, str]:
        with OpenSearch([opensearch_node]) as client:
            client.indices.refresh(index=sink.index)
            hits = client.search(index=sink.index, size=100)["hits"]["hits"]
        return {hit["_source"]["id"]: hit["_source"]["value"] for hit in hits}

    return look


def kinds(answers) -> list[AnswerKind]:
    return [answer.kind for answer in answers]


def busy(*numbers: int, status: int = 429):
    """Return a change of an answer: some records were not taken, for the moment."""

    def change(answer):
        for number in numbers:
            about = answer["items"][number]["index"]
            about |= {"status": status, "error": {"type": "rejected", "reason": "the queue is full"}}
        return answer

    return change


@pytest.mark.parametrize("trouble", [429, 503, 502, "cut", "cut after"])
def test_s13_what_is_transient_is_repeated(between, sink, stored, trouble):
    between.script = [trouble, trouble]
    assert kinds(deliver(sink, RECORDS)) == [DELIVERED] * 6
    assert len(between.asked) == 3
    assert stored() == dict.fromkeys(range(6), "x")


@pytest.mark.parametrize("status", [429, 503])
def test_s13_only_the_records_that_were_not_taken_are_sent_again(between, sink, status):
    between.script = [busy(1, 4, status=status), busy(0, status=status)]
    assert kinds(deliver(sink, RECORDS)) == [DELIVERED] * 6
    assert between.asked == [["0", "1", "2", "3", "4", "5"], ["1", "4"], ["1"]]


def test_s13_records_that_stay_out_are_failed_alone(between, sink):
    between.script = [busy(2), *[busy(0)] * 1_000]
    answers = deliver(replace(sink, retry_for=SOON), RECORDS)
    assert kinds(answers) == [DELIVERED] * 2 + [FAILED] + [DELIVERED] * 3
    assert answers[2].reason == "429 rejected: the queue is full"


def test_s13_a_refusal_is_kept_while_others_are_repeated(between, sink, stored):
    bad = {"id": 9, "value": {"an": "object"}}
    deliver(sink, RECORDS[:1])
    between.script = [busy(0)]
    answers = deliver(sink, [*RECORDS[:2], bad])
    assert kinds(answers) == [DELIVERED, DELIVERED, REFUSED]
    assert sorted(stored()) == [0, 1]


def test_s13_a_node_that_answers_429_for_all_is_no_refusal(between, sink):
    between.script = [429] * 1_000
    answers = deliver(replace(sink, retry_for=SOON), RECORDS)
    assert kinds(answers) == [FAILED] * 6
    assert "429" in answers[0].reason


def test_s13_a_request_that_is_never_answered_is_given_up(between, sink):
    between.script = ["hang"] * 100
    answers = deliver(replace(sink, timeout=timedelta(milliseconds=100), retry_for=SOON), RECORDS)
    assert kinds(answers) == [FAILED] * 6
    assert answers[0].reason.startswith("ConnectionTimeout")


def shorter(answer):
    return answer | {"items": answer["items"][:-1]}


def swapped(answer):
    return answer | {"items": answer["items"][::-1]}


def none(answer):
    return {"took": 1, "errors": False}


@pytest.mark.parametrize("change", [shorter, swapped, none])
def test_s13_an_answer_that_is_not_one_for_each_record_delivers_nothing(between, sink, change):
    between.script = [change]
    answers = deliver(sink, RECORDS)
    assert kinds(answers) == [FAILED] * 6
    assert "answer" in answers[0].reason


@pytest.mark.parametrize("status", [301, 400, 401, 403, 404])
def test_s13_a_request_that_may_not_be_made_is_nobody_s_record(between, sink, status):
    between.script = [status]
    assert kinds(deliver(sink, RECORDS)) == [FAILED] * 6
    assert len(between.asked) == 1, "there is no use in asking again"


def test_a_bulk_that_is_too_large_is_halved(between, sink, stored):
    between.script = [413, 413]
    assert kinds(deliver(sink, RECORDS)) == [DELIVERED] * 6
    assert [len(ids) for ids in between.asked] == [6, 3, 1, 2, 3]
    assert len(stored()) == 6
    between.script = [413]
    assert kinds(deliver(sink, RECORDS[:1])) == [REFUSED]


def test_s13_a_zombie_s_look_is_out_of_date_when_it_writes(between, sink, stored, opensearch_node):
    """The successor writes between the zombie's look at what is in its way and the write that follows."""
    direct = replace(sink, url=opensearch_node)
    deliver(direct, RECORDS[:1], sink_task(token=9, partition_id="store/s/before"))

    def overtake() -> None:
        if len(between.asked) == 2:
            deliver(direct, [{"id": 0, "value": "successor's"}], sink_task(token=3))

    between.before = overtake
    [answer] = deliver(sink, [{"id": 0, "value": "zombie's"}], sink_task(token=2))
    assert (answer.kind, answer.reason) == (FAILED, "a later owner of this partition has written this record already")
    assert stored() == {0: "successor's"}
