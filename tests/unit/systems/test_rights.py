"""What a process does of what it finds in notes is said by its own settings, not by the note (F4)."""

from __future__ import annotations

import json

import pytest

from airflow_coordination.duties.follow_ups import LISTS, note_of
from airflow_coordination.follow_ups import (
    CallUrl,
    CommitOffsets,
    DeleteMessages,
    DeleteObjects,
    FollowUpRights,
    follow_up_all,
)
from airflow_coordination.leases import InvalidInputError, SourceCoordinator
from airflow_coordination.protocol.follow_up import Place
from airflow_coordination.sources import kafka_ranges, object_listing, sqs_notifications
from airflow_coordination.systems.rights import rights_given

RIGHTS = FollowUpRights(
    objects=["s3://in", "s3a://other/pre", "/data/in", "gs://b/in/"],
    queues=["https://sqs.eu-west-1.amazonaws.com/1/q"],
    servers=["a:9092,b:9092"],
    urls=["https://example.org/done", "http://inner:8080/x/"],
)


@pytest.mark.parametrize(
    ("kind", "address"),
    [
        ("objects", "s3a://in/x/y"),
        ("objects", "s3://other/prefix/y"),
        ("objects", "/data/in/a/b"),
        ("objects", "gs://b/in/x"),
        ("queues", "https://sqs.eu-west-1.amazonaws.com/1/q"),
        ("servers", "b:9092"),
        ("servers", "b:9092,a:9092"),
        ("urls", "https://example.org/done"),
        ("urls", "https://EXAMPLE.org:443/done/2013-01?x=1"),
        ("urls", "http://inner:8080/x/y"),
    ],
)
def test_f4_what_is_below_what_was_said_is_allowed(kind, address) -> None:
    assert RIGHTS.allow(Place(kind, address))


@pytest.mark.parametrize(
    ("kind", "address"),
    [
        ("objects", "s3://inner/x"),
        ("objects", "s3://in"),
        ("objects", "s3://other/x"),
        ("objects", "s3://in/x::file:///data/in/x"),
        ("objects", "simplecache::s3://in/x"),
        ("objects", "file:///data/in/x"),
        ("objects", "/data/in"),
        ("objects", "/data/in/.."),
        ("objects", "/data/in/../out/x"),
        ("objects", "/data/inner/x"),
        ("objects", "data/in/x"),
        ("objects", "gs://b/in/../x"),
        ("objects", "gs://b/in/%2e%2e/x"),
        ("objects", "gs://b/inner"),
        ("queues", "https://sqs.eu-west-1.amazonaws.com/1/q2"),
        ("queues", "https://example.org/done"),
        ("servers", "c:9092"),
        ("servers", "a:9092,c:9092"),
        ("servers", ""),
        ("urls", "http://example.org/done"),
        ("urls", "https://example.org:8443/done"),
        ("urls", "https://example.org.evil/done"),
        ("urls", "https://example.org/done2"),
        ("urls", "https://example.org/done/../x"),
        ("urls", "https://example.org/done/%2E%2e/x"),
        ("urls", "https://sqs.eu-west-1.amazonaws.com/1/q"),
        ("urls", "http://["),
    ],
)
def test_f4_nothing_else_is(kind, address) -> None:
    assert not RIGHTS.allow(Place(kind, address))
    assert not FollowUpRights().allow(Place(kind, address))
    assert FollowUpRights.of_a_person().allow(Place(kind, address))


def test_f4_a_link_leads_nowhere_else(tmp_path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "in/link").symlink_to(tmp_path / "out")
    mine = FollowUpRights(objects=str(tmp_path / "in"))
    assert not mine.allow(Place("objects", f"{tmp_path}/in/link/x"))
    assert mine.allow(Place("objects", f"{tmp_path}/in/x"))


def test_f4_suppliers_allow_what_is_theirs() -> None:
    listing = object_listing("s3a://bucket/pre", scan="once").follow_up_rights
    assert listing == FollowUpRights(objects=["s3a://bucket/pre"])
    queue = "https://sqs.eu-west-1.amazonaws.com/1/q"
    for delete in ("created", "acknowledged"):
        assert sqs_notifications(queue, delete=delete).follow_up_rights == FollowUpRights(queues=[queue])
    kafka = kafka_ranges("a:9092,b:9092", "t", options={"sasl.password": "secret"}).follow_up_rights
    assert kafka == FollowUpRights(servers=["a:9092,b:9092"], options={"sasl.password": "secret"})
    assert "secret" not in repr(kafka)


def test_f4_what_a_listing_of_files_lists_is_allowed(tmp_path) -> None:
    mine = object_listing(tmp_path, scan="once").follow_up_rights
    assert mine.allow(Place("objects", f"{tmp_path}/a/b"))
    assert not mine.allow(Place("objects", f"{tmp_path}-other/b"))
    assert object_listing(f"file://{tmp_path}", scan="once").follow_up_rights.allow(Place("objects", f"{tmp_path}/a"))


def test_f4_two_rights_together() -> None:
    both = FollowUpRights(objects="/a", options={"x": "1"}) | FollowUpRights(objects="/b", urls="http://h/")
    assert both == FollowUpRights(["/a", "/b"], urls=["http://h/"], options={"x": "1"})


@pytest.mark.parametrize("given", ["s3://x", {"objects": []}, 7])
def test_f4_what_is_no_rights_is_refused(given) -> None:
    with pytest.raises(InvalidInputError, match="is no rights"):
        rights_given(given)


@pytest.mark.parametrize("given", [7, ["a", 1], [""], {"a": 1}])
def test_f4_what_is_no_address_is_refused(given) -> None:
    with pytest.raises(InvalidInputError, match="is no address, or list of addresses"):
        FollowUpRights(objects=given)


def test_f4_what_nobody_has_allowed_stays_and_says_how_it_is_allowed(store, tmp_path) -> None:
    one = SourceCoordinator(store, "s", "me")
    mine, foreign = tmp_path / "in/x", tmp_path / "out/x"
    for file in (mine, foreign):
        file.parent.mkdir()
        file.write_text("x")
    then = {
        "mine": [DeleteObjects(str(mine))],
        "mixed": [DeleteObjects(str(mine)), DeleteObjects(str(foreign))],
        "call": [CallUrl("http://127.0.0.1:1/x")],
        "tell": [CommitOffsets("127.0.0.1:1", "g", {"t:0": 1}, "SECRET_OPTIONS")],
        "sign": [DeleteMessages("http://127.0.0.1:1/q", "r")],
    }
    one.create_partitions(list(then))
    for key, actions in then.items():
        lease = one.acquire_partition(key)
        one.complete(lease, then=note_of(actions, lease.partition, lease.fence, None))
    done = follow_up_all(one, rights=FollowUpRights(objects=str(tmp_path / "in")))
    assert (done.done, done.failed) == (1, [])
    assert (mine.exists(), foreign.exists()) == (False, True)
    assert (
        {note.key for note, _ in done.waiting}
        == {"mixed", "call", "tell", "sign"}
        == {note.key for note in one.follow_ups.follow_ups()}
    )
    said = {note.key: str(error) for note, error in done.waiting}
    assert "in follow_up_rights=FollowUpRights(urls=…) of CreatePartitionsOperator" in said["call"]
    assert "SECRET_OPTIONS" not in next(note.text for note in one.follow_ups.follow_ups("tell"))


def test_f4_the_list_of_a_long_note_is_read_and_removed_below_the_output_root_alone(store, tmp_path) -> None:
    one = SourceCoordinator(store, "s", "me")
    one.create_partitions(["long", "other"])
    files = [tmp_path / f"in/{number:03}-{'x' * 40}" for number in range(100)]
    files[0].parent.mkdir()
    for file in files:
        file.write_text("x")
    lease = one.acquire_partition("long")
    root = str(tmp_path / "out")
    text = note_of(DeleteObjects([str(file) for file in files]), lease.partition, lease.fence, root)
    one.complete(lease, then=text)
    hostile = one.acquire_partition("other")
    one.complete(hostile, then=text)  # the list of another partition
    inside = FollowUpRights(objects=str(tmp_path / "in"))
    assert {note.key for note, _ in follow_up_all(one, rights=inside).waiting} == {"long", "other"}
    done = follow_up_all(one, rights=inside | FollowUpRights(output_root=root))
    assert (done.done, [note.key for note, _ in done.waiting]) == (1, ["other"])
    assert not any(file.exists() for file in files)
    assert list((tmp_path / "out" / LISTS).rglob("*.json")) == []


def test_f4_options_come_from_who_does_it(store) -> None:
    text = json.dumps(
        [{"kind": "commit offsets", "servers": "a:1", "group": "g", "offsets": {"t:0": 1}, "options_from": "PATH"}]
    )
    one = SourceCoordinator(store, "s", "me")
    one.create_partitions(["k"])
    one.complete(one.get_next_partition(), then=text)
    from airflow_coordination.duties.follow_ups import allowed

    [action] = allowed(next(one.follow_ups.follow_ups()), FollowUpRights(servers="a:1", options={"client.id": "mine"}))
    assert action._options() == {"client.id": "mine"}
