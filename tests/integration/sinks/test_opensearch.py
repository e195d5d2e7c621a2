"""The index sink on a real node: the kit, the fence, and what it asks of an index."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import ClassVar
from uuid import uuid4

import pytest
from opensearchpy import OpenSearch

from airflow_coordination.sinks import OpenSearchSink
from airflow_coordination.systems.sink import AnswerKind
from airflow_coordination.testing.sinks import deliver, sink_task
from airflow_coordination.values.input_errors import InvalidInputError
from airflow_coordination.values.scrubbing import without_known
from tests.engines.ports import free_port
from tests.integration.sinks.kit import OwnFixtures, kinds

SOON = timedelta(milliseconds=300)
DELIVERED, REFUSED, FAILED = AnswerKind.DELIVERED, AnswerKind.REFUSED, AnswerKind.FAILED


@pytest.fixture
def database(opensearch_node):
    with OpenSearch([opensearch_node]) as client:
        yield client


@pytest.fixture
def index(database):
    name = f"flights-{uuid4().hex}"
    database.indices.create(
        index=name, body={"mappings": {"properties": {"id": {"type": "long"}, "value": {"type": "date"}}}}
    )
    database.indices.put_mapping(
        body={"properties": {"value": {"type": "date", "ignore_malformed": False}}}, index=name
    )
    yield name
    database.indices.delete(index=name, ignore=[404])


@pytest.fixture
def words(database):
    """An index whose values are words."""
    name = f"words-{uuid4().hex}"
    properties = {"id": {"type": "long"}, "value": {"type": "keyword"}}
    database.indices.create(index=name, body={"mappings": {"properties": properties}})
    yield name
    database.indices.delete(index=name)


@pytest.fixture
def sink(opensearch_node, words) -> OpenSearchSink:
    sink = OpenSearchSink(opensearch_node, words)
    sink.setup()
    return sink


@pytest.fixture
def stored(database, words):
    def look() -> dict[int, str]:
        database.indices.refresh(index=words)
        hits = database.search(index=words, size=2_000)["hits"]["hits"]
        assert all(hit["_id"] == str(hit["_source"]["id"]) for hit in hits)
        return {hit["_source"]["id"]: hit["_source"]["value"] for hit in hits}

    return look


class TestOpenSearch(OwnFixtures):
    bad_record: ClassVar = {"id": 3, "value": {"no": "keyword"}}


def one(value: str, number: int = 1) -> list[dict]:
    return [{"id": number, "value": value}]


def other(token: int):
    return sink_task(token=token, partition_id="store/s/q")


def test_s13_another_partition_s_token_does_not_keep_a_record_out(sink, stored):
    """Tokens of two partitions, or of two stores, say nothing about each other."""
    deliver(sink, one("old"), sink_task(token=9))
    assert kinds(deliver(sink, one("new"), other(2))) == [DELIVERED]
    assert stored() == {1: "new"}


def test_s13_the_fence_holds_where_a_record_has_moved(sink, stored):
    """The document's version says less then than the token inside it."""
    deliver(sink, one("old"), sink_task(token=9))
    deliver(sink, one("moved"), other(3))
    assert kinds(deliver(sink, one("zombie's"), other(2))) == [FAILED]
    assert kinds(deliver(sink, one("again"), other(3))) == [DELIVERED]
    assert kinds(deliver(sink, one("successor's"), other(4))) == [DELIVERED]
    assert kinds(deliver(sink, one("zombie's"), other(3))) == [FAILED]
    assert stored() == {1: "successor's"}


def test_documents_from_before_are_taken_over(sink, database, words, stored):
    for value in ("a", "b", "c"):
        database.index(index=words, id="1", body={"id": 1, "value": value})
    assert kinds(deliver(sink, one("x"), sink_task(token=1))) == [DELIVERED]
    assert stored() == {1: "x"}


def test_a_document_that_was_just_deleted_is_waited_for(sink, database, words, stored):
    deliver(sink, one("x"), sink_task(token=9))
    database.delete(index=words, id="1")
    [answer] = deliver(replace(sink, retry_for=SOON), one("y"), other(1))
    assert (answer.kind, "deleted a moment ago" in answer.reason) == (FAILED, True)
    database.indices.put_settings(body={"index.gc_deletes": "500ms"}, index=words)
    assert kinds(deliver(sink, one("y"), other(1))) == [DELIVERED]
    assert stored() == {1: "y"}


def test_documents_tell_partition_and_fence(sink, database, words):
    deliver(sink, one("x"), sink_task(token=9))
    found = database.get(index=words, id="1")
    assert found["_source"] == {"id": 1, "value": "x", "lease_partition": "store/s/p", "lease_fence": 9}
    assert found["_version"] == 9


@pytest.mark.parametrize("key", [None, "", "ä" * 257], ids=["null", "empty", "long"])
def test_a_key_that_is_no_id_is_refused_alone(sink, database, words, key):
    task = sink_task(key="value")
    answers = deliver(sink, [{"id": 1, "value": "a"}, {"id": 2, "value": key}, {"id": 3, "value": "c"}], task)
    assert kinds(answers) == [DELIVERED, REFUSED, DELIVERED]
    assert "no _id" in answers[1].reason
    database.indices.refresh(index=words)
    assert database.count(index=words)["count"] == 2


@pytest.mark.parametrize("value", [float("nan"), "\ud800"], ids=["nan", "surrogate"])
def test_what_is_no_json_is_refused_alone(sink, stored, value):
    answers = deliver(sink, [*one("a"), {"id": 2, "value": value}])
    assert kinds(answers) == [DELIVERED, REFUSED]
    assert stored() == {1: "a"}


def test_the_record_that_does_not_fit_is_named_by_opensearch(opensearch_node, index):
    sink = OpenSearchSink(opensearch_node, index)
    sink.setup()
    answers = deliver(sink, [*one("2013-01-01"), *one("no day", 2), *one("2013-01-02", 3)])
    assert kinds(answers) == [DELIVERED, REFUSED, DELIVERED]
    assert answers[1].reason.startswith("400 mapper_parsing_exception: failed to parse field [value] of type [date]")


def test_s13_an_index_that_takes_nothing_now_is_nobody_s_record(sink, database, words):
    database.indices.put_settings(body={"index.blocks.write": True}, index=words)
    answers = deliver(sink, one("x"))
    assert kinds(answers) == [FAILED]
    assert "cluster_block_exception" in answers[0].reason


@pytest.fixture
def closed(opensearch_node, database):
    """Return a function that makes an index which takes no record whatever is in it."""
    names = []

    def made(body: dict, *, close: bool = False) -> OpenSearchSink:
        sink = OpenSearchSink(opensearch_node, f"closed-{uuid4().hex}", retry_for=SOON)
        names.append(sink.index)
        database.indices.create(index=sink.index, body=body)
        sink.setup()
        if close:
            database.indices.close(index=sink.index)
        return sink

    yield made
    database.indices.delete(index=",".join(names))


@pytest.mark.parametrize(
    ("body", "close", "problem"),
    [
        ({}, True, "is closed. POST /closed-.*/_open, or give another"),
        ({"mappings": {"_routing": {"required": True}}}, False, "wants a routing with each document"),
        ({"settings": {"index.default_pipeline": "gone"}}, False, "through the pipeline 'gone', which does not exist"),
        ({"settings": {"index.final_pipeline": "gone"}}, False, "Create it, or set index.final_pipeline to another"),
    ],
    ids=["closed", "routing", "pipeline", "last pipeline"],
)
def test_d6_what_an_index_answers_to_every_record_is_no_record_s_fault(closed, body, close, problem):
    """Said before a record is read; while they are written not one of them becomes a dead letter."""
    sink = closed(body, close=close)
    with pytest.raises(InvalidInputError, match=problem):
        sink.check(["id", "value"], "id")
    assert kinds(deliver(sink, one("x"))) == [FAILED]


def test_d6_an_index_whose_writing_is_blocked_is_said_before_a_record_is_read(closed, database):
    sink = closed({"settings": {"index.blocks.write": True}})
    with pytest.raises(InvalidInputError, match=r"takes no records: index.blocks.write is set. Take the block away"):
        sink.check(["id", "value"], "id")


def test_s13_a_node_that_is_away_is_no_refusal():
    sink = OpenSearchSink(f"http://127.0.0.1:{free_port()}", "flights", retry_for=SOON)
    assert kinds(deliver(sink, [*one("x"), *one("x", 2)])) == [FAILED] * 2


def test_setting_up_makes_an_index_that_is_not_there(opensearch_node, database):
    sink = OpenSearchSink(opensearch_node, name := f"new-{uuid4().hex}")
    with pytest.raises(
        InvalidInputError, match=r"does not exist. Create it .* then run OpenSearchSink\(…\)\.setup\(\)"
    ):
        sink.check(["id"], "id")
    sink.setup()
    sink.setup()
    sink.check(["id", "value"], "id")
    database.indices.delete(index=name)


def test_an_alias_of_one_index_will_do(opensearch_node, database, sink, words):
    database.indices.put_alias(index=words, name=(alias := f"alias-{uuid4().hex}"))
    behind = OpenSearchSink(opensearch_node, alias)
    behind.check(["id", "value"], "id")
    deliver(sink, one("successor's"), sink_task(token=8))
    assert kinds(deliver(behind, one("zombie's"), sink_task(token=7))) == [FAILED]


def test_an_index_without_the_fence_s_fields(opensearch_node, index):
    with pytest.raises(InvalidInputError, match=r"has no field 'lease_partition' of the type keyword.*setup\(\) once"):
        OpenSearchSink(opensearch_node, index).check(["id"], "id")


def test_an_index_that_forgets_its_source(opensearch_node, database):
    database.indices.create(index=(name := f"blind-{uuid4().hex}"), body={"mappings": {"_source": {"enabled": False}}})
    sink = OpenSearchSink(opensearch_node, name)
    sink.setup()
    with pytest.raises(InvalidInputError, match="does not keep the whole _source"):
        sink.check(["id"], "id")
    deliver(sink, one("x"), sink_task(token=8))
    [answer] = deliver(sink, one("y"), sink_task(token=7))
    assert (answer.kind, "keeps no _source" in answer.reason) == (FAILED, True)
    database.indices.delete(index=name)


def test_several_indices_are_no_place(opensearch_node, database, index, words):
    database.indices.put_alias(index=f"{index},{words}", name=(alias := f"two-{uuid4().hex}"))
    with pytest.raises(InvalidInputError, match="is several indices or a data stream"):
        OpenSearchSink(opensearch_node, alias).check(["id"], "id")


@pytest.mark.parametrize("column", ["lease_fence", "_id"])
def test_columns_that_are_taken(sink, column):
    with pytest.raises(InvalidInputError, match=f"records='{column}': is a name that OpenSearch or the fence needs"):
        sink.check(["id", column], "id")


def test_a_node_that_cannot_be_reached_is_said_before_any_record():
    with pytest.raises(InvalidInputError, match=r"index='flights': cannot be used: ConnectionError.*Check the address"):
        OpenSearchSink(f"http://127.0.0.1:{free_port()}", "flights").check(["id"], "id")


def test_x4_headers_are_in_no_text():
    sink = OpenSearchSink("http://host:1", "i", headers={"Authorization": "Basic secret-of-the-index"})
    assert "secret" not in repr(sink)
    assert "secret-of-the-index" not in without_known("Basic secret-of-the-index")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"url": "ftp://host/"}, r"url='\*\*\*': is no address of HTTP. Give http"),
        ({"url": None}, "is no address of HTTP"),
        ({"url": "http://me:hunter2@host/"}, r"url='\*\*\*': holds a user's name or password"),
        ({"index": "a,b"}, "index='a,b': is no name of one index"),
        ({"index": "flights-*"}, "is no name of one index"),
        ({"index": "_all"}, "is no name of one index"),
        ({"index": ""}, "is no name of one index"),
        ({"timeout": timedelta(0)}, "timeout=.*is zero"),
        ({"retry_for": timedelta(-1)}, "retry_for=.*is negative"),
        ({"bulk_records": 0}, "bulk_records=0"),
    ],
)
def test_bad_arguments(arguments, problem):
    with pytest.raises(InvalidInputError, match=problem):
        OpenSearchSink(**{"url": "http://host/", "index": "i"} | arguments)
