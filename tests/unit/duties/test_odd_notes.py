"""One odd note among a hundred: the others are done in one run, and the odd one is named and stays (S27)."""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_coordination.duties.follow_ups import KINDS, note_of, said_in, told, understood
from airflow_coordination.follow_ups import (
    CallUrl,
    CommitOffsets,
    DeleteMessages,
    DeleteObjects,
    FollowUpError,
    FollowUpRights,
    ShowMessages,
    follow_up_all,
)
from airflow_coordination.leases import InvalidInputError, SourceCoordinator
from airflow_coordination.protocol.follow_up import FollowUp
from airflow_coordination.protocol.port import PartitionStore

PERSON = FollowUpRights.of_a_person()
ODD = {
    DeleteObjects: [
        {"objects": [["s3://b/k", 1, None, None]], "left": 7},
        {"objects": [["zzz://bucket/x", 1, None, "e"]]},
        {"objects": [["/x\0y", 1, None, None]]},
        {"objects": [["/x", "many", None, None]]},
        {"objects": [[1, 1, None, None]]},
    ],
    DeleteMessages: [
        {"queue": "queue", "receipts": ["r"], "region": None},
        {"queue": "http://127.0.0.1:1/q", "receipts": ["r"], "region": "no region\n"},
        {"queue": "http://[", "receipts": ["r"], "region": "x"},
        {"queue": "http://127.0.0.1:1/q", "receipts": [["r"]], "region": 7},
    ],
    ShowMessages: [
        {"queue": "queue", "receipts": ["r"], "region": None, "seconds": 0},
        {"queue": "http://127.0.0.1:1/q", "receipts": ["r"], "region": "no region\n", "seconds": 0},
        {"queue": "http://127.0.0.1:1/q", "receipts": ["r"], "region": "x", "seconds": -1},
        {"queue": "http://127.0.0.1:1/q", "receipts": ["r"], "region": "x", "seconds": 10**30},
        {"queue": "http://127.0.0.1:1/q", "receipts": ["r"], "region": "x", "seconds": [1]},
        {"queue": "http://127.0.0.1:1/q", "receipts": ["r"], "region": "x"},
    ],
    CommitOffsets: [
        {"servers": "127.0.0.1:1", "group": "g", "offsets": {"t:0": 2**70}},
        {"servers": "127.0.0.1:1", "group": "g", "offsets": {"t:99999999999": 1}},
        {"servers": "127.0.0.1:1", "group": "g\0", "offsets": {"t:0": 1}},
        {"servers": "127.0.0.1:1", "group": "g", "offsets": [1]},
    ],
    CallUrl: [
        {"url": "http://127.0.0.1:1/Zürich", "body": None, "partition": ["s", "k"]},
        {"url": "http://a..b/x", "body": None, "partition": ["s", "k"]},
        {"url": "http://127.0.0.1:99999/", "body": None, "partition": ["s", "k"]},
        {"url": "http://127.0.0.1:1/a b", "body": None, "partition": ["s", "k"]},
        {"url": "http://127.0.0.1:1/", "body": None, "partition": 7},
    ],
}
"""For each action there is, notes of it that no constructor would have made, or that raise when they are done."""
TEXTS = [
    "{",
    "1",
    "[{}]",
    "[[]]",
    '["x"]',
    '{"file":1}',
    '{"file":"/nowhere","digest":1}',
    "[" * 4_000,
    '[{"kind":{}}]',
]


@pytest.fixture
def one(store: PartitionStore) -> SourceCoordinator:
    return SourceCoordinator(store, "s", "me")


def test_every_action_there_is_has_odd_notes() -> None:
    assert set(ODD) == set(KINDS.values())


ALL = [json.dumps([{"kind": kind.kind, **each}]) for kind, notes in ODD.items() for each in notes] + TEXTS


@pytest.mark.parametrize("text", ALL, ids=range(len(ALL)))
def test_f1_one_odd_note_among_a_hundred_stays_and_is_named(one, tmp_path: Path, text) -> None:
    keys = [f"{number:03}" for number in range(101)]
    one.create_partitions(keys)
    for key in keys:
        lease = one.acquire_partition(key)
        file = tmp_path / key
        file.write_text("x")
        note = note_of(DeleteObjects(str(file)), lease.partition, lease.fence, None)
        one.complete(lease, then=text if key == "050" else note)
    (tmp_path / "050").unlink()
    found = follow_up_all(one, rights=PERSON)
    assert (found.done, [note.key for note, _ in found.failed], found.gave_up) == (100, ["050"], False)
    assert str(found.failed[0][1]).startswith("Cannot ")
    assert list(tmp_path.iterdir()) == []
    [left] = one.follow_ups.follow_ups()
    assert (left.key, bool(told(left))) == ("050", True)


def test_f1_a_library_that_is_missing_keeps_nothing_else(one, tmp_path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "botocore.exceptions", None)
    one.create_partitions(["a", "b"])
    (tmp_path / "x").write_text("x")
    actions = {"a": DeleteMessages("https://sqs.eu-west-1.amazonaws.com/1/q", "r"), "b": DeleteObjects(f"{tmp_path}/x")}
    for key, action in actions.items():
        lease = one.acquire_partition(key)
        one.complete(lease, then=note_of(action, lease.partition, lease.fence, None))
    found = follow_up_all(one, rights=PERSON)
    [(note, error)] = found.failed
    assert (note.key, found.done) == ("a", 1)
    assert "Look whether its library is installed here" in str(error)
    assert one.metrics.counts["s_source_coordinator_followUpErrors"] == 1


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=9,
)
FIELDS = ("objects", "left", "queue", "receipts", "region", "servers", "group", "offsets", "url", "body", "partition")
SHAPED = st.fixed_dictionaries(
    {"kind": st.sampled_from(sorted(KINDS))}, optional=dict.fromkeys((*FIELDS, "file", "digest"), JSON)
)
NOTES = st.one_of(
    st.text(max_size=40),
    JSON.map(json.dumps),
    SHAPED.map(lambda each: json.dumps([each])),
    st.fixed_dictionaries({"file": JSON, "digest": JSON}).map(json.dumps),
)


@given(NOTES)
def test_f1_any_note_is_understood_or_refused_in_words_of_ours(text) -> None:
    note = FollowUp("s|PARTITION", "k", 1, "op", text)
    assert told(note).isprintable()
    with suppress(FollowUpError):
        said_in(text)
        assert understood(note)


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (
            lambda: CallUrl("http://h/Zürich"),
            "a letter that no URL may hold. Write it as it is sent: urllib.parse.quote",
        ),
        (lambda: CallUrl("http://h/a b"), "holds a space"),
        (lambda: CallUrl("http://h:99999/"), "names a host or a port that cannot be"),
        (lambda: CallUrl("http://h:0/"), "names a host or a port that cannot be"),
        (lambda: CallUrl("http://a..b/x"), "names a host or a port that cannot be"),
        (lambda: CallUrl(f"http://{'a' * 70}.example/x"), "names a host or a port that cannot be"),
        (lambda: CommitOffsets("b", "g", {"t:0": 2**70}), "names no offsets of topics"),
        (lambda: CommitOffsets("b", "g", {"t:99999999999": 1}), "names no offsets of topics"),
        (lambda: CommitOffsets("b", "g\0", {"t:0": 1}), "group='g\\x00': is no name"),
        (lambda: DeleteObjects("/a\0b"), "names no objects"),
    ],
)
def test_f1_what_cannot_be_done_is_refused_where_it_is_given(made, said) -> None:
    with pytest.raises(InvalidInputError) as raised:
        made()
    assert said in str(raised.value)


@pytest.mark.parametrize("body", [{1}, float("nan"), object(), {"a": b"x"}, {(1, 2): 3}])
def test_f5_a_body_that_is_no_json_is_refused_where_it_is_given(body) -> None:
    with pytest.raises(InvalidInputError, match="is no JSON"):
        CallUrl("http://h/x", body)


def test_f5_a_body_too_deep_to_be_read_back_is_refused() -> None:
    deep: object = 1
    for _ in range(40):
        deep = [deep]
    with pytest.raises(InvalidInputError, match="nested deeper than 32 levels"):
        CallUrl("http://h/x", deep)


@pytest.mark.parametrize("held", ["[1]", "1", "{", None])
def test_f1_options_that_are_no_object_fail_the_note_and_nothing_else(monkeypatch, held) -> None:
    if held is not None:
        monkeypatch.setenv("KAFKA_OPTIONS_OF_A_TEST", held)
    with pytest.raises(FollowUpError, match="KAFKA_OPTIONS_OF_A_TEST is no JSON object in this process's environment"):
        CommitOffsets("127.0.0.1:1", "g", {"t:0": 1}, "KAFKA_OPTIONS_OF_A_TEST").carry_out()
