"""A source moves with its view, its rules and its branches: what was not to be seen there is not seen here."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from airflow_coordination.duties.branches.look import look_at
from airflow_coordination.duties.compaction.configured import set_compaction
from airflow_coordination.duties.retention.ruled import set_rules
from airflow_coordination.leases import Block, PartitionUpdateError, SourceCoordinator
from airflow_coordination.outputs.enabling import enabling_of
from airflow_coordination.outputs.heads.showing import read_view, shown_pages
from airflow_coordination.planning.view import changing
from airflow_coordination.planning.view.showing import as_if_published
from airflow_coordination.protocol.beside.documents import VIEW
from airflow_coordination.protocol.beside.parts import StoreParts
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.protocol.writes import Create, NewPartition
from airflow_coordination.stores import open_store
from airflow_coordination.stores.dynamodb import DynamoDBOptions, DynamoDBStore, requests
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.testing.crash import FaultyStore
from airflow_coordination.transfer import lines
from airflow_coordination.transfer.exporting import export
from airflow_coordination.transfer.importing import import_, read_export
from airflow_coordination.values.input_errors import InvalidInputError, SettingsError
from tests.branches import begun, held, hidden, reset, shown
from tests.simulation.dynamodb.engine import Engine

SOURCE = "flights|PARTITION"
RULES = '{"rules": []}'
CLOCK = FakeClock()
"""Of all stores: what is due in one of them is due in the next one."""
Open = Callable[[str], PartitionStore]


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[Open]:
    stores: list[PartitionStore] = []

    def make(kind: str) -> PartitionStore:
        if kind == "dynamodb":
            monkeypatch.setattr(requests, "PARALLEL", 1)
            engine = Engine(CLOCK.now)
            options = DynamoDBOptions(table_name="coordination", billing_mode="on_demand")
            stores.append(DynamoDBStore(options, CLOCK, client=lambda _: engine, local=CLOCK))
        elif kind == "postgresql":
            stores.append(open_store(request.getfixturevalue("postgres_url"), clock=CLOCK))
        else:
            name = f"memory://{uuid4().hex}" if kind == "memory" else f"sqlite:///{tmp_path}/{uuid4().hex}.db"
            stores.append(open_store(name, clock=CLOCK))
        stores[-1].setup()
        enabling_of(stores[-1]).enable_branches()
        return stores[-1]

    yield make
    for store in stores:
        store.close()


def coordinator(store: PartitionStore) -> SourceCoordinator:
    return SourceCoordinator(store, "flights", "me", clock=CLOCK)


def publish(c: SourceCoordinator, key: str, rows: int, interval: str | None = None) -> None:
    lease = held(c, key)
    name = f"{key}-{lease.fence.token}"
    c.complete(lease, [Block("clean", f"/out/{name}", name, rows, 10 * rows)], interval=interval)


def lived(store: PartitionStore) -> tuple[SourceCoordinator, int]:
    """Return a source with a branch that shows, one that has begun, a hidden interval and rules; and the second branch.

    Of the second one ``a`` has completed, ``b`` was reset and ``new`` was created in it.
    """
    c = coordinator(store)
    c.create_partitions(["a", "b", "c", "d"])
    for day, key in enumerate("abcd", 1):
        publish(c, key, 10, f"2013-01-0{day}/P1D")
    first = begun(c, ["c"])
    publish(c, "c", 5, "2013-01-03/P1D")
    shown(c, first)
    hidden(c, "clean", "2013-01-04/P1D")
    c.documents.change("rules/clean", lambda _: RULES, "eva", "a year is enough")
    second = begun(c, ["a", "b"])
    publish(c, "a", 7, "2013-01-01/P1D")
    return c, second


def paused(c: SourceCoordinator) -> SourceCoordinator:
    c.pausing.pause(by="ana", why="it moves")
    c.moving.wait_until_paused()
    return c


def seen(c: SourceCoordinator, branch: int | None = None) -> dict[str, int]:
    """Return how many rows readers see of each partition."""
    view = read_view(c.store, SOURCE)
    view = view if branch is None else as_if_published(view, branch)
    return {head.key: head.rows for page in shown_pages(c.store, SOURCE, "clean", view) for head in page}


WAYS = [
    ("memory", "sqlite"),
    ("sqlite", "memory"),
    ("sqlite", "dynamodb"),
    ("dynamodb", "sqlite"),
    pytest.param("sqlite", "postgresql", marks=pytest.mark.postgres),
]
each_way = pytest.mark.parametrize(("one", "other"), WAYS)


@each_way
def test_s22_readers_see_there_what_they_saw_here(opened: Open, tmp_path: Path, one: str, other: str) -> None:
    here, second = lived(opened(one))
    export(paused(here), tmp_path / "f")
    there = coordinator(opened(other))
    done = import_(there, read_export(tmp_path / "f"), "bob")
    assert (done.here, done.different, done.documents) == (4, (), ())
    assert seen(there) == seen(here) == {"a": 10, "b": 10, "c": 5}
    assert there.documents.view() == here.documents.view()
    assert {each.branch for each in there.partitions()} == {None, second, 1}


@each_way
def test_a_begun_branch_goes_on_there_and_can_be_published(opened: Open, tmp_path: Path, one: str, other: str) -> None:
    here, second = lived(opened(one))
    export(paused(here), tmp_path / "f")
    there = coordinator(opened(other))
    import_(there, read_export(tmp_path / "f"), "bob")
    there.pausing.resume(by="bob", why="moved")
    before = look_at(there, second)
    assert (before.unfinished, [each.key for each in before.changed]) == (("b",), ["a"])
    publish(there, "b", 8)
    publish_branch(there, second)
    assert seen(there) == {"a": 7, "b": 8, "c": 5}
    assert (seen(here), seen(here, second)) == ({"a": 10, "b": 10, "c": 5}, {"a": 7, "b": 10, "c": 5})


def publish_branch(c: SourceCoordinator, number: int) -> None:
    counts = c.store.branch_counts(SOURCE, number)  # type: ignore[attr-defined]
    branch = c.documents.view().branch(number)
    assert branch is not None
    assert (branch.expected, counts.completed) == (counts.partitions, counts.partitions)
    shown(c, number)


@each_way
def test_who_has_said_it_and_why_go_along_and_that_it_was_moved(
    opened: Open, tmp_path: Path, one: str, other: str
) -> None:
    here, _ = lived(opened(one))
    export(paused(here), tmp_path / "f")
    there = coordinator(opened(other))
    import_(there, read_export(tmp_path / "f"), "bob")
    rules, view = there.documents.newest("rules/clean"), there.documents.newest(VIEW)
    assert (rules.content, rules.author) == (RULES, "eva")
    assert rules.comment.startswith(f"moved by bob from {here.store.description[:200]}, version 1 of 20")
    assert rules.comment.endswith(": a year is enough")
    assert (view.author, view.version) == ("ana", 1)
    assert f"version {here.documents.newest(VIEW).version} of" in view.comment
    assert [each.version for each in there.documents.history(VIEW)] == [1]


def test_a_partition_that_was_created_in_a_branch_stays_in_it(opened: Open, tmp_path: Path) -> None:
    """Nobody has touched it, so that its creation would say all, but for its branch."""
    store = opened("sqlite")
    here = coordinator(store)
    number = begun(here, [])
    here.create_partitions(["old"])
    publish(here, "old", 1)
    reset(here, "old", number)
    created(here, "new", number)
    export(paused(here), tmp_path / "f")
    there = coordinator(opened("memory"))
    for _ in range(2):
        done = import_(there, read_export(tmp_path / "f"), "bob")
        assert (done.here, done.different) == (2, ())
        assert {each.key: each.branch for each in there.partitions()} == {"old": number, "new": number}


def created(c: SourceCoordinator, key: str, branch: int) -> None:
    new = NewPartition(key=key, payload_text=None, priority=0)
    c.store.create(Create(source=SOURCE, op="created", partitions=(new,), branch=branch))


@pytest.mark.parametrize("carried", ["branch", "hidden"])
def test_a_store_that_lets_code_in_that_knows_no_branches_is_refused(tmp_path: Path, carried: str) -> None:
    """Nothing is changed there; once it is said, the same command goes on."""
    here = coordinator(open_store("memory://", clock=CLOCK))
    here.create_partitions(["a"])
    publish(here, "a", 1, "2013-01-01/P1D")
    if carried == "branch":
        begun(here, ["a"])
    else:
        hidden(here, "clean", "2013-01/P1M")
    export(paused(here), tmp_path / "f")
    store = open_store(f"sqlite:///{tmp_path}/there.db", clock=CLOCK)
    store.setup()
    there, found = coordinator(store), read_export(tmp_path / "f")
    with pytest.raises(SettingsError, match=r"Run `airflow coordination store enable branches` there, then import"):
        import_(there, found, "bob")
    assert (list(there.partitions()), there.documents.all(), store.sources()) == ([], [], [])
    assert not there.pausing.current_pause().paused
    enabling_of(store).enable_branches()
    assert import_(there, found, "bob").here == 1
    store.close()


def test_rules_alone_need_nothing_of_a_store_but_that_it_keeps_them(tmp_path: Path) -> None:
    here = coordinator(open_store("memory://", clock=CLOCK))
    here.create_partitions(["a"])
    here.documents.change("rules/clean", lambda _: RULES, "eva", "a year is enough")
    months = set_compaction(here, "clean", '{"segmentGranularity": "MONTH"}', "eva", "small files")
    export(paused(here), tmp_path / "f")
    there, found = coordinator(open_store("memory://", clock=CLOCK)), read_export(tmp_path / "f")
    import_(there, found, "bob")
    assert there.documents.newest("rules/clean").content == RULES
    assert there.documents.newest("compaction/clean").content == months.content

    class Elsewhere(FaultyStore):
        def parts(self) -> StoreParts:
            return replace(super().parts(), documents=None)

    elsewhere = coordinator(Elsewhere(open_store("memory://", clock=CLOCK)))
    with pytest.raises(SettingsError, match="comes from elsewhere and keeps no documents, which the file has"):
        import_(elsewhere, found, "bob")
    assert list(elsewhere.partitions()) == []


def test_it_goes_on_where_it_stopped_and_what_became_of_the_view_stays(opened: Open, tmp_path: Path) -> None:
    here, second = lived(opened("memory"))
    export(paused(here), tmp_path / "f")
    there, found = coordinator(opened("sqlite")), read_export(tmp_path / "f")
    import_(there, found, "bob")
    there.documents.change_view(lambda view: changing.rolled_back(view, second, there.store.now()), "bob", "wrong")
    there.documents.change("rules/clean", lambda _: '{"rules": [1]}', "bob", "longer")
    after = there.documents.all()
    assert import_(there, found, "bob").documents == ()
    assert there.documents.all() == after


def test_other_default_rules_are_told_and_decide_on_nothing_silently(opened: Open, tmp_path: Path) -> None:
    """What they have hidden there would come back by ``rules apply`` here; they are those of all sources here, too."""
    drop, keep = '[{"type":"dropBeforeByPeriod","period":"P1M"}]', '[{"type":"loadForever"}]'
    here, _ = lived(opened("memory"))
    set_rules(here, None, drop, "eva", "a month is enough")
    export(paused(here), tmp_path / "f")
    there, found = coordinator(opened("sqlite")), read_export(tmp_path / "f")
    assert json.loads(found.default_rules.content) == json.loads(drop)
    assert import_(there, found, "bob").documents == ("rules/_default",)
    assert there.documents.newest("rules/_default") is None
    assert there.documents.newest("rules/_default", "~all|PARTITION") is None
    set_rules(there, None, drop, "bob", "as there")
    assert import_(there, found, "bob").documents == ()
    here.pausing.resume(by="ana", why="once more")
    set_rules(here, None, keep, "eva", "for ever")
    export(paused(here), tmp_path / "g")
    assert import_(there, read_export(tmp_path / "g"), "bob").documents[-1:] == ("rules/_default",)


def test_default_rules_where_the_file_has_none_are_told_too(opened: Open, tmp_path: Path) -> None:
    here, _ = lived(opened("memory"))
    export(paused(here), tmp_path / "f")
    there, found = coordinator(opened("sqlite")), read_export(tmp_path / "f")
    set_rules(there, None, '[{"type":"loadForever"}]', "bob", "as where nobody has said any")
    assert import_(there, found, "bob").documents == ()
    set_rules(there, None, '[{"type":"dropForever"}]', "bob", "nothing stays")
    assert import_(there, found, "bob").documents == ("rules/_default",)


def test_another_view_here_is_refused_and_other_rules_stay(opened: Open, tmp_path: Path) -> None:
    """Its branch 1 would be another one than that of the partitions in the file."""
    here, _ = lived(opened("memory"))
    export(paused(here), tmp_path / "f")
    store = opened("sqlite")
    there, found = coordinator(store), read_export(tmp_path / "f")
    there.documents.change("rules/clean", lambda _: '{"rules": [1]}', "bob", "mine")
    assert import_(there, found, "bob").documents == ("rules/clean",)
    assert there.documents.newest("rules/clean").content == '{"rules": [1]}'
    other = coordinator(opened("sqlite"))
    other.create_partitions(["z"])
    begun(other, ["z"])
    with pytest.raises(SettingsError, match="has another view here already"):
        import_(other, found, "bob")
    assert [each.key for each in other.partitions()] == ["z"]


def test_a_view_that_changes_while_it_is_written_is_no_export(opened: Open, tmp_path: Path) -> None:
    """A pause does not hold people back who hide and publish."""
    here, _ = lived(opened("memory"))
    paused(here)

    def hide(written: int) -> None:
        if written == 1:
            hidden(here, "clean", "2013-02/P1M")

    with pytest.raises(PartitionUpdateError, match="somebody has changed its view, or its rules, meanwhile"):
        export(here, tmp_path / "f", hide)
    assert list(tmp_path.glob("f*")) == []


def test_older_code_refuses_a_file_with_documents_and_reads_one_without(
    opened: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, _ = lived(opened("memory"))
    export(paused(here), tmp_path / "with")
    plain = coordinator(opened("memory"))
    plain.create_partitions(["a"])
    export(paused(plain), tmp_path / "without")
    versions = [
        json.loads((tmp_path / name).read_text().splitlines()[0])["heading"]["version"] for name in ("with", "without")
    ]
    assert versions == [2, 1]
    assert '"document"' not in (tmp_path / "without").read_text()


def changed(file: Path, values: dict[str, Any]) -> Path:
    """Write an export whose view has other values, and the sum that it has then."""
    rows = [json.loads(line) for line in file.read_text().splitlines()[:-1]]
    view = next(row["document"] for row in rows if row.get("document", {}).get("name") == VIEW)
    view |= values
    text = "".join(json.dumps(row) + "\n" for row in rows)
    partitions = sum("life" in row for row in rows)
    end = {"partitions": partitions, "sha256": hashlib.sha256(text.encode()).hexdigest()}
    other = file.with_name("changed")
    other.write_text(text + lines.dumped("end", end))
    return other


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"content": "{"}, "is corrupt in the store"),
        ({"content": 7}, "the 'content' of document 'view' is no text"),
        ({"content": "x" * 70_000}, "its 'content' has 70000 bytes, the limit is 65536"),
        ({"author": " "}, "the 'author' of document 'view' is no text"),
        ({"comment": "\x00"}, "its 'comment' holds what no store can hold"),
        ({"version": 0}, "the 'version' of document 'view' is 0"),
        ({"version": True}, "the 'version' of document 'view' is True"),
        ({"name": "rules/clean"}, "document 'rules/clean' stands in the file twice"),
        ({"name": ""}, "document"),
        ({"at": "2026-01-01T00:00:00"}, "has no zone"),
        ({"at": "0001-01-01T00:00:00+00:00"}, "no time between 1970 and 9000"),
        ({"op": "mine"}, "it has ['op'], which this code does not know"),
    ],
)  # fmt: skip
def test_a_document_that_nobody_has_written_is_refused(
    opened: Open, tmp_path: Path, values: dict[str, Any], said: str
) -> None:
    here, _ = lived(opened("memory"))
    export(paused(here), tmp_path / "f")
    with pytest.raises(InvalidInputError) as refused:
        read_export(changed(tmp_path / "f", values))
    assert said in str(refused.value)
