"""Notes: what is written, what is read, who does it, and what becomes of one that cannot be done (S27)."""

from __future__ import annotations

import json
import shutil
import threading
from datetime import timedelta
from pathlib import Path

import pytest

from airflow_coordination.duties import follow_ups
from airflow_coordination.duties.follow_ups import KINDS, LISTS, note_of, said_in
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
from airflow_coordination.leases import InvalidInputError, PartitionIdentifier, SettingsError, SourceCoordinator
from airflow_coordination.leases.lease import Lease
from airflow_coordination.protocol.follow_up import MAX_BYTES
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.spark import Close, Complete
from tests.unit.systems.http.test_http import Server


@pytest.fixture
def one(store: PartitionStore) -> SourceCoordinator:
    return SourceCoordinator(store, "s", "me")


def acquired(one: SourceCoordinator, key: str) -> Lease:
    one.create_partitions([PartitionIdentifier(key)])
    lease = one.acquire_partition(key)
    assert lease is not None
    return lease


def ended(one: SourceCoordinator, key: str, then, root: str | None = None) -> None:
    """End a partition with a note, and die before it is done."""
    lease = acquired(one, key)
    one.complete(lease, then=note_of(then, lease.partition, lease.fence, root))


def a_file(tmp_path: Path, name: str = "x.json") -> Path:
    file = tmp_path / name
    file.write_text("records")
    return file


def test_what_drivers_have_left_is_done_and_gone(one, tmp_path) -> None:
    files = [a_file(tmp_path, name) for name in "abc"]
    for file in files:
        ended(one, file.name, DeleteObjects(str(file)))
    result = follow_up_all(one, rights=FollowUpRights.of_a_person())
    assert (result.done, result.left_alone, result.failed) == (3, [], [])
    assert not any(file.exists() for file in files)
    assert list(one.follow_ups.follow_ups()) == []
    assert one.metrics.counts["s_source_coordinator_followUpsDone"] == 3


def test_several_things_follow_one_after_the_other(one, tmp_path) -> None:
    files = [a_file(tmp_path, name) for name in "ab"]
    ended(one, "k", [DeleteObjects(str(file)) for file in files])
    assert len(said_in(next(one.follow_ups.follow_ups()).text)) == 2
    assert follow_up_all(one, "k", FollowUpRights.of_a_person()).done == 1
    assert not any(file.exists() for file in files)


def test_what_cannot_be_done_stays_and_keeps_nothing_else(one, tmp_path) -> None:
    gone, file = tmp_path / "gone", a_file(tmp_path)
    gone.mkdir()
    ended(one, "a", DeleteObjects(str(a_file(gone))))
    ended(one, "b", DeleteObjects(str(file)))
    (gone / "x.json").unlink()
    gone.rmdir()
    result = follow_up_all(one, rights=FollowUpRights.of_a_person())
    [(note, error)] = result.failed
    assert (note.key, result.done, file.exists()) == ("a", 1, False)
    assert "this machine has not" in str(error)
    assert [left.key for left in one.follow_ups.follow_ups()] == ["a"]
    assert one.metrics.counts["s_source_coordinator_followUpErrors"] == 1


def test_a_place_that_cannot_be_reached_is_not_tried_a_thousand_times_and_keeps_no_other(one, tmp_path) -> None:
    gone, file = tmp_path / "gone", a_file(tmp_path)
    gone.mkdir()
    for number in range(12):
        ended(one, f"k{number:02}", DeleteObjects(str(a_file(gone, f"{number}"))))
    ended(one, "the last", DeleteObjects(str(file)))
    shutil.rmtree(gone)
    result = follow_up_all(one, rights=FollowUpRights.of_a_person())
    assert (len(result.failed), result.gave_up, result.done, file.exists()) == (10, True, 1, False)


def test_small_x9_failures_in_a_row_are_counted_anew_after_a_success(one) -> None:
    """Nine refusals, a success, nine refusals: the place is there, and all notes are tried."""
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        server.script = [*[404] * 9, 201] * 2
        for number in range(20):
            ended(one, f"k{number:02}", CallUrl(server.url, body={"n": number}))
        result = follow_up_all(one, rights=FollowUpRights.of_a_person())
        server.shutdown()
        thread.join()
    assert (len(result.failed), result.done, result.gave_up) == (18, 2, False)


def test_f1_notes_that_are_not_understood_keep_no_other_however_many_there_are(one, tmp_path) -> None:
    file = a_file(tmp_path)
    for number in range(12):
        one.complete(acquired(one, f"k{number:02}"), then="[{}]")
    ended(one, "the last", DeleteObjects(str(file)))
    result = follow_up_all(one, rights=FollowUpRights.of_a_person())
    assert (len(result.failed), result.gave_up, result.done, file.exists()) == (12, False, 1, False)


def test_a_long_list_is_a_file_below_the_output_root_until_it_is_done(one, tmp_path) -> None:
    files = [a_file(tmp_path, f"{number:03}-{'x' * 40}") for number in range(100)]
    root = tmp_path / "out"
    ended(one, "k", DeleteObjects([str(file) for file in files]), str(root))
    [note] = one.follow_ups.follow_ups()
    assert len(note.text) < MAX_BYTES
    [kept] = (root / LISTS).rglob("*.json")
    assert follow_up_all(one, rights=FollowUpRights.of_a_person()).done == 1
    assert not any(file.exists() for file in [*files, kept])


def test_a_long_list_without_a_place_fails_the_partition_before_it_ends(one, tmp_path) -> None:
    action = DeleteObjects([str(a_file(tmp_path, f"{number:03}-{'x' * 40}")) for number in range(100)])
    with pytest.raises(
        SettingsError, match=r"then= is \d+,\d+ bytes of JSON, of which 4,096 fit into the store"
    ) as raised:
        ended(one, "k", action)
    assert "Set it, so that the list has a place, or name less" in str(raised.value)


def test_a_list_that_nobody_could_read_again_is_not_written(one, tmp_path, monkeypatch) -> None:
    """It was, and neither operator nor command could ever do it."""
    monkeypatch.setattr(follow_ups, "_MAX_FILE", 6_000)
    action = DeleteObjects([str(a_file(tmp_path, f"{number:03}-{'x' * 40}")) for number in range(100)])
    with pytest.raises(InvalidInputError, match=r"then=.*: says \d+,\d+ bytes of JSON, of which 6,000 can be"):
        ended(one, "k", action, str(tmp_path / "out"))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("change", ["deleted", "changed"])
def test_a_list_that_is_not_as_it_was_written_is_not_followed(one, tmp_path, change) -> None:
    files = [a_file(tmp_path, f"{number:03}-{'x' * 40}") for number in range(100)]
    root = tmp_path / "out"
    ended(one, "k", DeleteObjects([str(file) for file in files]), str(root))
    [kept] = (root / LISTS).rglob("*.json")
    kept.unlink() if change == "deleted" else kept.write_text("[]")
    [(_, error)] = follow_up_all(one, rights=FollowUpRights.of_a_person()).failed
    assert ("is not there" if change == "deleted" else "was changed since") in str(error)
    assert all(file.exists() for file in files)


@pytest.mark.parametrize(
    "text", ['[{"kind":"fly"}]', "[{}]", "[1]", "1", '{"file":1}', "{", '[{"kind":"delete objects"}]']
)
def test_a_note_that_is_not_understood_says_so_and_stays(one, text) -> None:
    one.complete(acquired(one, "k"), then=text)
    [(_, error)] = follow_up_all(one, rights=FollowUpRights.of_a_person()).failed
    assert isinstance(error, FollowUpError)
    assert str(error).endswith("Use the version of this package that has written it, or a newer one")
    assert len(list(one.follow_ups.follow_ups())) == 1


@pytest.mark.parametrize("ending", [Complete, lambda then: Close(timedelta(1), then=then)])
@pytest.mark.parametrize("then", ["s3://b/k", {"delete": "x"}, [DeleteObjects("x"), "y"], DeleteObjects, 7])
def test_an_outcome_takes_actions_only(ending, then) -> None:
    with pytest.raises(
        InvalidInputError, match=r"is nothing to do at a source. Give one or several of: CallUrl, CommitOffsets, D"
    ):
        ending(then=then)


def test_the_error_names_every_action_there_is() -> None:
    with pytest.raises(InvalidInputError, match=", ".join(sorted(kind.__name__ for kind in KINDS.values()))):
        Complete(then="x")


def test_every_kind_comes_back_as_it_went(one) -> None:
    actions = [
        DeleteObjects("/x/y"),
        DeleteMessages("https://sqs.eu-west-1.amazonaws.com/1/q", ["r1", "r2"]),
        ShowMessages("https://sqs.eu-west-1.amazonaws.com/1/q", ["r1"], after=timedelta(minutes=3)),
        CallUrl("https://example.org/done", {"a": [1]}),
        CommitOffsets("broker:9092", "g", {"t:0": 7}),
    ]
    assert {type(action) for action in actions} == set(KINDS.values())
    partition = acquired(one, "k").partition
    for action in actions[1:]:
        pinned = action.pinned(partition)
        assert type(action).from_json(json.loads(json.dumps(pinned.to_json()))) == pinned


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda: DeleteMessages("queue", "r"), "queue_url='queue': is no URL of a queue"),
        (lambda: DeleteMessages("https://q", []), "receipts=[]: names no messages"),
        (lambda: CommitOffsets("", "g", {"t:0": 1}), "servers='': is no name"),
        (lambda: CommitOffsets("b", "g", {"t": 1}), "offsets={'t': 1}: names no offsets of topics"),
        (lambda: CommitOffsets("b", "g", {"t:0": -1}), "Give {'topic:partition': offset}, for example"),
        (lambda: CommitOffsets("b", "g", {}), "offsets={}: names no offsets"),
        (lambda: CallUrl("ftp://x"), "is no address of HTTP"),
        (lambda: CallUrl("https://me:secret@x"), "holds a user's name or password"),
    ],
)
def test_bad_arguments_are_named(made, said) -> None:
    with pytest.raises(InvalidInputError) as raised:
        made()
    assert said in str(raised.value)
    assert "secret" not in str(raised.value)
