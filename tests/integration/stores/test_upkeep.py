"""Looking after a store over the years: forgetting what is done, and copies."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from airflow_coordination import PartitionStatus, SourceCoordinator
from airflow_coordination.cli.standalone import main
from airflow_coordination.cli.subcommands.upkeep import moment_of
from airflow_coordination.leases import cleaning
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.stores import open_store
from airflow_coordination.stores.sql.store import SqlStore
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.values.blocks import Block
from airflow_coordination.values.errors import PartitionNotOwnedError
from airflow_coordination.values.input_errors import InvalidInputError, SettingsError
from airflow_coordination.values.names import was_copied

DAY = timedelta(days=1)
STORES = ["memory", "sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)]


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest, clock: FakeClock) -> Iterator[PartitionStore]:
    fixture = {"sqlite": "sqlite_url", "postgresql": "postgres_store_url"}.get(request.param)
    found = open_store(request.getfixturevalue(fixture) if fixture else "memory://", clock=clock)
    if request.param == "sqlite":
        found.setup()
    yield found
    found.close()


@pytest.fixture
def c(store: PartitionStore) -> SourceCoordinator:
    return SourceCoordinator(store, "flights", "h/d/r/t/0/1")


def complete(c: SourceCoordinator, *keys: str) -> None:
    c.create_partitions(keys)
    for key in keys:
        lease = c.acquire_partition(key)
        assert lease is not None
        c.complete(lease, blocks=[Block("clean", f"file:///out/{key}", "digest", rows=3, bytes=9)])


def test_a11_purge_forgets_what_is_old_in_portions_and_keeps_what_was_published(
    c: SourceCoordinator, store: PartitionStore, clock: FakeClock
) -> None:
    """A11: nothing removed old COMPLETED rows."""
    complete(c, *(f"old{number}" for number in range(7)))
    clock.advance(10 * DAY)
    complete(c, "new")
    c.create_partitions(["waits"])
    heads = store.heads(c.partitions()[0].source)
    before = clock.now() - DAY
    assert c.cleaning.purge(before, "ana", "old", dry_run=True).deleted == 7
    after, deleted, portions = None, [], 0
    while True:
        part = c.cleaning.purge(before, "ana", "old", after=after, limit=3)
        deleted.append(part.deleted)
        after, portions = part.after, portions + 1
        if after is None:
            break
    assert deleted == [2, 3, 2]  # "new" is looked at first
    assert [one.key for one in c.partitions()] == ["new", "waits"]
    assert store.heads(heads[0].source) == heads
    assert len(heads) == 8
    [action] = store.audit(heads[0].source, "old3")
    assert (action["action"], action["by"], action["why"]) == ("delete", "ana", "old")


def test_a11_a_sweep_with_a_retention_forgets_a_portion_each_time(
    c: SourceCoordinator, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A11: what is still too young at the front does not keep the sweep from what comes after it."""
    monkeypatch.setattr(cleaning, "PURGE_PORTION", 2)
    complete(c, "d", "e", "f")
    clock.advance(10 * DAY)
    complete(c, "a", "b", "c")
    counts = []
    for _ in range(4):
        c.sweep(retention=9 * DAY)
        counts.append(c.counts()[PartitionStatus.COMPLETED])
    assert counts == [6, 5, 3, 3]
    c.sweep()
    assert [one.key for one in c.partitions()] == ["a", "b", "c"]
    with pytest.raises(InvalidInputError, match=r"retention.*is zero"):
        c.sweep(retention=timedelta(0))


def test_a11_s1_a_purged_partition_that_comes_again_has_fences_that_go_on(
    c: SourceCoordinator, clock: FakeClock
) -> None:
    """A11, S1: the tombstone keeps the token, and whoever held the first life is refused in the second."""
    c.create_partitions(["a"])
    first = c.acquire_partition("a")
    assert first is not None
    c.complete(first)
    clock.advance(DAY)
    assert c.cleaning.purge(clock.now(), "ana", "old").deleted == 1
    c.create_partitions(["a"])
    second = c.acquire_partition("a")
    assert second is not None
    assert second.fence.token > first.fence.token + 1
    with pytest.raises(PartitionNotOwnedError):
        c.complete(first)


def test_a11_what_changed_since_it_was_seen_is_left(
    c: SourceCoordinator, store: PartitionStore, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A11: reset by a person between the look and the deletion."""
    complete(c, "a", "b")
    clock.advance(DAY)
    page = store.page

    def meanwhile(*arguments: object) -> object:
        found = page(*arguments)  # type: ignore[arg-type]
        c.people.reset("a", by="ben", why="again")
        return found

    monkeypatch.setattr(store, "page", meanwhile)
    done = c.cleaning.purge(clock.now(), "ana", "old")
    assert (done.deleted, done.changed) == (1, 1)
    monkeypatch.undo()
    found = c.partition("a")
    assert found is not None
    assert found.status is PartitionStatus.UNASSIGNED


def test_a11_a_time_without_a_zone_is_refused(c: SourceCoordinator) -> None:
    """A11: it would be another time on another host."""
    with pytest.raises(InvalidInputError, match=r"completed_before.*has no time zone"):
        c.cleaning.purge(datetime(2026, 1, 1), "ana", "old")  # noqa: DTZ001


NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("2026-01-31", "2026-01-31T00:00:00+00:00"),
        ("2026-01-31T12:00:00+01:00", "2026-01-31T12:00:00+01:00"),
        ("30d", "2026-04-01T12:00:00+00:00"),
    ],
)
def test_a11_the_command_understands_days_times_and_ages(text: str, meant: str) -> None:
    """A11: a day is one in UTC, as times in the store are."""
    assert moment_of(text, NOW).isoformat() == meant


@pytest.mark.parametrize(("text", "problem"), [("soon", "is no time"), ("2026-01-31T12:00", "has no time zone")])
def test_a11_the_command_refuses_what_is_no_time(text: str, problem: str) -> None:
    """A11: with an example."""
    with pytest.raises(SettingsError, match=f"--completed-before='{text}': {problem}. Write 2026-01-31"):
        moment_of(text, NOW)


def test_a11_the_command_purges_and_says_how_many(sqlite_url: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A11: more than a portion; a dry run changes nothing."""
    store = open_store(sqlite_url)
    store.setup()
    complete(SourceCoordinator(store, "flights", "h/d/r/t/0/1"), *(f"k{number:04}" for number in range(1_003)))
    command = ["purge", "flights", "--completed-before", "0d", "--why", "old", "--store", sqlite_url]
    assert main([*command, "--dry-run"]) == 0
    assert "Dry run: would purge 1003 partition(s)" in capsys.readouterr().err
    assert main([*command, "--yes"]) == 0
    assert "Done: purged 1003 partition(s) of source flights" in capsys.readouterr().err
    assert SourceCoordinator(store, "flights", "x").counts()[PartitionStatus.COMPLETED] == 0


def copied(url: str, path: Path) -> str:
    """Return the URL of a copy that SQLite itself makes."""
    source, target = sqlite3.connect(url.removeprefix("sqlite:///")), sqlite3.connect(path)
    source.backup(target)
    source.close()
    target.close()
    return f"sqlite:///{path}"


def test_a11_s18_a_copy_gets_an_id_of_its_own(
    sqlite_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A11, S18: a hint of the original is refused by the copy then."""
    store = open_store(sqlite_url)
    store.setup()
    original = SourceCoordinator(store, "flights", "h/d/r/t/0/1")
    original.create_partitions(["a"])
    hint = original.claimable()[0]
    url = copied(sqlite_url, tmp_path / "copy.db")
    assert open_store(url).store_id == store.store_id
    assert main(["store", "new-id", "--store", url, "--yes"]) == 0
    copy = open_store(url)
    assert f"Done: store {store.store_id} at {url} is {copy.store_id} now." in capsys.readouterr().err
    assert copy.store_id != store.store_id
    with pytest.raises(Exception, match=store.store_id):
        SourceCoordinator(copy, "flights", "h/d/r/t/0/1").get_next_partition(hint=hint)


@pytest.mark.parametrize("store", STORES[1:], indirect=True)
def test_a11_the_id_stays_while_leases_are_held(store: PartitionStore, c: SourceCoordinator, clock: FakeClock) -> None:
    """A11: it is the original then, or its owners are still at work; when they have ended, it may change."""
    assert isinstance(store, SqlStore)
    c.create_partitions(["a"])
    lease = c.get_next_partition()
    assert lease is not None
    with pytest.raises(SettingsError, match=r"has 1 lease\(s\) that are held, the last until .* wait until they have"):
        store.new_id()
    before = store.store_id
    clock.advance(timedelta(minutes=11))
    assert store.new_id() == store.store_id != before
    assert (was_copied(store.store_id), was_copied(before)) == (True, False)


def test_a11_a_store_that_cannot_be_copied_has_no_new_id(capsys: pytest.CaptureFixture[str]) -> None:
    """A11: said, not done."""
    assert main(["store", "new-id", "--store", "memory://", "--yes"]) == 1
    assert "is not in an SQL database" in capsys.readouterr().err
