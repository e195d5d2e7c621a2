"""The collector deletes exactly the losers' blocks."""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from airflow_coordination.leases import Fence, InvalidInputError, Lease, SourceCoordinator
from airflow_coordination.outputs import Attempt, Block, Reference, collect, published_manifests
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.stores import open_store
from airflow_coordination.stores.sql.store import SqlStore
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.values.blocks import Mode

NOW = timedelta(0)


@pytest.fixture
def coordinator() -> SourceCoordinator:
    coordinator = SourceCoordinator(open_store("memory://"), source="flights", owner="a test", max_failures=100)
    coordinator.create_partitions(["k"])
    return coordinator


def acquired(coordinator: SourceCoordinator) -> Lease:
    lease = coordinator.get_next_partition()
    assert lease is not None
    return lease


def attempt_of(coordinator: SourceCoordinator, lease: Lease, root: Path) -> Attempt:
    return Attempt(str(root), lease.partition.source, lease.key, lease.fence, coordinator.store.store_id)


def block_of(
    attempt: Attempt, follows: Block | None = None, *, dataset: str = "clean", mode: Mode = "replace"
) -> Block:
    opened = attempt.open(dataset)
    Path(opened.path).mkdir()
    (Path(opened.path) / "part-0.txt").write_text("12345")
    reference = Reference(follows.address, follows.digest) if follows else None
    return attempt.finish(opened, mode=mode, follows=reference, file_format="text")


def exists(block: Block) -> bool:
    return Path(block.address).exists()


def run(coordinator: SourceCoordinator, root: Path, *, older_than: timedelta = NOW, dry_run: bool = False):
    return collect(coordinator.store, "flights", root, older_than=older_than, dry_run=dry_run)


def test_a_dry_run_counts_exactly_and_deletes_nothing(coordinator: SourceCoordinator, tmp_path: Path) -> None:
    lease = acquired(coordinator)
    loser = block_of(attempt_of(coordinator, lease, tmp_path))
    coordinator.fail(lease, "no", retry_after=NOW)
    found = run(coordinator, tmp_path, dry_run=True)
    size = 5 + Path(loser.address).stat().st_size
    assert (found.blocks, found.files, found.bytes, found.sample) == (1, 2, size, (str(Path(loser.address).parent),))
    assert exists(loser)
    assert run(coordinator, tmp_path).blocks == 1
    assert not list(tmp_path.rglob("*.txt"))
    assert run(coordinator, tmp_path).blocks == 0


def test_e16_what_was_retracted_goes_after_the_readers_who_may_be_reading_it(
    coordinator: SourceCoordinator, tmp_path: Path
) -> None:
    """E16: also when a block beside it has been published since."""
    lease = acquired(coordinator)
    attempt = attempt_of(coordinator, lease, tmp_path)
    first = block_of(attempt)
    second = block_of(attempt, follows=first)
    coordinator.close(lease, NOW, {"n": 1}, [first, second])
    old = time.time() - 3600
    for path in tmp_path.rglob("*"):
        os.utime(path, (old, old))
    coordinator.people.retract("k", by="ana", why="wrong tariff")
    assert published_manifests(coordinator.store, "flights", "clean") == []
    assert run(coordinator, tmp_path, older_than=timedelta(minutes=30)).blocks == 0
    lease = acquired(coordinator)
    third = block_of(attempt_of(coordinator, lease, tmp_path))
    coordinator.complete(lease, [third])
    assert run(coordinator, tmp_path).blocks == 2
    assert (exists(first), exists(second), exists(third)) == (False, False, True)
    assert [manifest.address for manifest in published_manifests(coordinator.store, "flights", "clean")] == [
        third.address
    ]


def test_s12_what_counts_survives_and_losers_go(coordinator: SourceCoordinator, tmp_path: Path) -> None:
    first = acquired(coordinator)
    attempt = attempt_of(coordinator, first, tmp_path)
    saved = block_of(attempt)
    first = coordinator.save_progress_state(first, {"n": 1}, [saved])
    unsaved = block_of(attempt, follows=saved)
    coordinator.fail(first, "no", retry_after=NOW)
    second = acquired(coordinator)
    following = block_of(attempt_of(coordinator, second, tmp_path), follows=saved)
    assert run(coordinator, tmp_path).blocks == 1
    assert [exists(block) for block in (saved, unsaved, following)] == [True, False, True]
    coordinator.complete(second, [following])
    assert run(coordinator, tmp_path).blocks == 0
    assert len(published_manifests(coordinator.store, "flights", "clean")) == 2


def test_a_replaced_publication_goes_once_no_reader_can_be_at_it(
    coordinator: SourceCoordinator, tmp_path: Path
) -> None:
    blocks = []
    for _ in range(2):
        lease = acquired(coordinator)
        blocks.append(block_of(attempt_of(coordinator, lease, tmp_path)))
        coordinator.close(lease, NOW, blocks=blocks[-1:])
    for file in tmp_path.rglob("*"):
        os.utime(file, (time.time() - 7200,) * 2)
    assert run(coordinator, tmp_path, older_than=timedelta(hours=1)).blocks == 0
    assert run(coordinator, tmp_path).blocks == 1
    assert [exists(block) for block in blocks] == [False, True]


def test_e3_output_in_more_datasets_than_a_page_is_kept(coordinator: SourceCoordinator, tmp_path: Path) -> None:
    """E3: the collector sees every head record of a partition, and an ending adds to every one of them."""
    names = [f"table-{number:04}" for number in range(1_003)]
    for _ in range(2):
        lease = acquired(coordinator)
        attempt = attempt_of(coordinator, lease, tmp_path)
        coordinator.close(lease, NOW, blocks=[block_of(attempt, dataset=name, mode="append") for name in names])
    assert run(coordinator, tmp_path).blocks == 0
    assert [len(published_manifests(coordinator.store, "flights", name)) for name in names[-4:]] == [2] * 4


def test_a_tenure_that_goes_on_keeps_everything(coordinator: SourceCoordinator, tmp_path: Path) -> None:
    lease = acquired(coordinator)
    block = block_of(attempt_of(coordinator, lease, tmp_path))
    assert run(coordinator, tmp_path).blocks == 0
    coordinator.complete(lease, [block])
    assert run(coordinator, tmp_path).blocks == 0
    assert exists(block)


def after_the_first_read(store: PartitionStore, happens: Callable[[], object]) -> None:
    """Let something happen after the next read of a partition or of its head records, whichever comes first."""
    get, heads = store.get, store.heads

    def then(read: Callable[..., Any]) -> Callable[..., Any]:
        def reads(*given: Any, **named: Any) -> Any:
            found = read(*given, **named)
            if vars(store).pop("get", None) and vars(store).pop("heads", None):
                happens()
            return found

        return reads

    store.get, store.heads = then(get), then(heads)  # type: ignore[method-assign]


def test_a_publisher_that_ends_between_the_reads_loses_nothing(coordinator: SourceCoordinator, tmp_path: Path) -> None:
    """The ending moves a staged block into the head record just after the partition was read."""
    lease = acquired(coordinator)
    staged = block_of(attempt_of(coordinator, lease, tmp_path))
    coordinator.save_progress_state(lease, {"n": 1}, [staged])
    coordinator.give_up(lease)
    successor = acquired(coordinator)
    after_the_first_read(coordinator.store, lambda: coordinator.complete(successor))
    assert run(coordinator, tmp_path).blocks == 0
    assert successor.ending is not None
    assert exists(staged)


def test_young_attempts_are_left_alone(coordinator: SourceCoordinator, tmp_path: Path) -> None:
    lease = acquired(coordinator)
    block_of(attempt_of(coordinator, lease, tmp_path))
    coordinator.give_up(lease)
    found = run(coordinator, tmp_path, older_than=timedelta(hours=1))
    assert (found.blocks, found.kept) == (0, 1)


def test_what_is_not_understood_is_never_touched(coordinator: SourceCoordinator, tmp_path: Path) -> None:
    lease = acquired(coordinator)
    attempt = attempt_of(coordinator, lease, tmp_path)
    block_of(attempt)
    coordinator.give_up(lease)
    foreign = [
        tmp_path / "_attempts" / "mine.txt",
        tmp_path / "_attempts" / "_partition=x" / "_attempt=1-y-z" / "_block=clean-1" / "part-0.txt",
        Path(attempt.directory) / "notes.txt",
        tmp_path / "_attempts" / Path(attempt.directory).parent.name / "_attempt=9-copied-by-hand" / "_block=a-1" / "x",
    ]
    for file in foreign:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("not ours")
    found = run(coordinator, tmp_path)
    assert found.blocks == 1
    assert len(found.unknown) == 2
    assert all(file.exists() for file in foreign)


@pytest.mark.parametrize("marker", [b"[]", b"null", b"5", b'{"source": "s", "key": "k", "fence": 7}'])
def test_a_marker_that_is_json_and_none_keeps_no_other_source_from_being_cleaned(
    coordinator: SourceCoordinator, tmp_path: Path, marker: bytes
) -> None:
    """One such file ended the run for all sources below the root."""
    lease = acquired(coordinator)
    attempt = attempt_of(coordinator, lease, tmp_path)
    block_of(attempt)
    coordinator.give_up(lease)
    odd = tmp_path / "_attempts" / "_partition=x" / "_attempt=1-y-z"
    odd.mkdir(parents=True)
    (odd / "_attempt.json").write_bytes(marker)
    found = run(coordinator, tmp_path)
    assert (found.blocks, found.unknown) == (1, (str(odd),))


def test_other_sources_and_partitions_the_store_does_not_know_are_kept(
    coordinator: SourceCoordinator, tmp_path: Path
) -> None:
    blocks = [
        block_of(Attempt(str(tmp_path), source, key, Fence(1, "n"), coordinator.store.store_id))
        for source, key in [("other|PARTITION", "k"), ("flights|PARTITION", "never created")]
    ]
    assert run(coordinator, tmp_path).blocks == 0
    assert all(exists(block) for block in blocks)


def test_a_fence_from_the_future_is_kept(coordinator: SourceCoordinator, tmp_path: Path) -> None:
    """The store was restored from a backup: it does not know this tenure, so it cannot say that it is over."""
    block = block_of(Attempt(str(tmp_path), "flights|PARTITION", "k", Fence(99, "n"), coordinator.store.store_id))
    assert run(coordinator, tmp_path).blocks == 0
    assert exists(block)


def test_a_partition_whose_chain_cannot_be_read_is_left_alone(coordinator: SourceCoordinator, tmp_path: Path) -> None:
    lease = acquired(coordinator)
    attempt = attempt_of(coordinator, lease, tmp_path)
    saved = block_of(attempt)
    lease = coordinator.save_progress_state(lease, {"n": 1}, [saved])
    loser = block_of(attempt)
    coordinator.give_up(lease)
    Path(saved.address).write_text("{}")
    assert run(coordinator, tmp_path).blocks == 0
    assert exists(loser)


def test_a_negative_age_is_refused(coordinator: SourceCoordinator, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="is negative"):
        run(coordinator, tmp_path, older_than=timedelta(seconds=-1))


def test_nothing_is_left_of_an_attempt_without_followed_blocks(coordinator: SourceCoordinator, tmp_path: Path) -> None:
    lease = acquired(coordinator)
    loser = block_of(attempt_of(coordinator, lease, tmp_path))
    coordinator.fail(lease, "no", retry_after=NOW)
    assert run(coordinator, tmp_path).blocks == 1
    assert not Path(loser.address).parents[1].exists()


def test_an_empty_block_goes_too(coordinator: SourceCoordinator, tmp_path: Path) -> None:
    """A cancelled Spark job tidies its files up, but leaves the directory."""
    lease = acquired(coordinator)
    attempt = attempt_of(coordinator, lease, tmp_path)
    saved = block_of(attempt)
    lease = coordinator.save_progress_state(lease, {"n": 1}, [saved])
    Path(empty := attempt.open("clean").path).mkdir()
    assert run(coordinator, tmp_path).blocks == 0
    coordinator.fail(lease, "cancelled", retry_after=NOW)
    found = run(coordinator, tmp_path)
    assert (found.blocks, found.files, found.kept, found.sample) == (1, 0, 1, (empty,))
    assert (exists(saved), Path(empty).exists()) == (True, False)


def rows_of(one: SourceCoordinator) -> list[int]:
    return [manifest.files[0].size for manifest in published_manifests(one.store, "flights", "clean")]


def test_e2_two_stores_with_one_output_root_leave_each_other_alone(tmp_path: Path) -> None:
    """E2: each one's collector runs a hundred times between publications of both, and every block stays readable."""
    deployments = [
        SourceCoordinator(open_store("memory://"), source="flights", owner=f"{name}/x", max_failures=1_000)
        for name in ("staging", "production")
    ]
    for each in deployments:
        each.create_partitions(["k"])
    for _ in range(20):  # staging is ahead, and has forgotten how it came to the tokens that production gives
        deployments[0].fail(acquired(deployments[0]), "no", retry_after=NOW)
    for turn in range(100):
        for each in deployments:
            lease = acquired(each)
            attempt = attempt_of(each, lease, tmp_path)
            if turn % 3 == 0:  # a loser, which its own collector takes
                block_of(attempt)
                each.fail(lease, "no", retry_after=NOW)
                lease = acquired(each)
                attempt = attempt_of(each, lease, tmp_path)
            each.close(lease, NOW, blocks=[block_of(attempt)])
            found = [run(collector, tmp_path) for collector in deployments]
            assert rows_of(deployments[0]) == [5]
            assert rows_of(deployments[1]) == [5] * (turn > 0 or each is deployments[1])
    found = [run(collector, tmp_path) for collector in deployments]
    assert [len(report.foreign) for report in found] == [1, 1], "each has one attempt left, and the other names it"
    assert all(report.unmarked == report.unknown == () for report in found)
    assert len(list(tmp_path.rglob("_attempt.json"))) == 2


def test_e2_a_copied_store_does_not_judge_what_the_original_did_since(
    coordinator: SourceCoordinator, tmp_path: Path
) -> None:
    """E2: a copy has the id of its original. The nonce that it gave for the same token gives it away."""
    original = acquired(coordinator)
    copy = Fence(original.fence.token, "given by the copy")
    block = block_of(attempt_of(coordinator, original, tmp_path))
    stranger = block_of(Attempt(str(tmp_path), "flights|PARTITION", "k", copy, coordinator.store.store_id))
    coordinator.complete(original, [block])
    found = run(coordinator, tmp_path)
    assert (found.blocks, found.foreign) == (0, (str(Path(stranger.address).parents[1]),))
    assert exists(stranger)


def written_before(lease: Lease, root: Path) -> Block:
    """Return a block whose marker the version before wrote."""
    attempt = Attempt(str(root), lease.partition.source, lease.key, lease.fence, "")
    block = block_of(attempt)
    facts = {"source": lease.partition.source, "key": lease.key, "fence": str(lease.fence)}
    Path(attempt.directory, "_attempt.json").write_text(json.dumps(facts))
    return block


def test_e2_markers_of_the_version_before_get_the_id_of_their_own_store(
    coordinator: SourceCoordinator, tmp_path: Path
) -> None:
    """E2: only the store that remembers the fence takes it for its own."""
    lost = acquired(coordinator)
    loser = written_before(lost, tmp_path)
    coordinator.fail(lost, "no", retry_after=NOW)
    won = acquired(coordinator)
    winner = written_before(won, tmp_path)
    coordinator.complete(won, [winner])
    stranger = SourceCoordinator(open_store("memory://"), source="flights", owner="another", max_failures=100)
    stranger.create_partitions(["k"])
    for _ in range(3):
        stranger.fail(acquired(stranger), "no", retry_after=NOW)

    found = run(stranger, tmp_path)
    assert (found.blocks, len(found.foreign), exists(loser), exists(winner)) == (0, 2, True, True)
    marker = Path(winner.address).parents[1] / "_attempt.json"
    assert run(coordinator, tmp_path, dry_run=True).blocks == 1
    assert "store" not in json.loads(marker.read_text()), "a dry run writes nothing"
    assert run(coordinator, tmp_path).blocks == 1
    assert (exists(loser), exists(winner)) == (False, True)
    assert json.loads(marker.read_text())["store"] == coordinator.store.store_id


def test_e2_what_no_store_remembers_waits_for_a_person(coordinator: SourceCoordinator, tmp_path: Path) -> None:
    """E2: eight endings later the store has forgotten the tenure; a person can say that there is no other store."""
    lease = acquired(coordinator)
    loser = written_before(lease, tmp_path)
    coordinator.fail(lease, "no", retry_after=NOW)
    for _ in range(8):
        coordinator.fail(acquired(coordinator), "no", retry_after=NOW)
    found = run(coordinator, tmp_path)
    assert (found.blocks, found.unmarked) == (0, (str(Path(loser.address).parents[1]),))
    told = collect(coordinator.store, "flights", tmp_path, older_than=NOW, dry_run=False, unmarked_are_own=True)
    assert (told.blocks, exists(loser)) == (1, False)


@pytest.mark.parametrize("remembered", [True, False])
def test_e2_a_copy_with_an_id_of_its_own_leaves_unmarked_directories_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, remembered: bool
) -> None:
    """E2: a copy remembers the original's fences, so it took directories that bear no store's id for its own."""
    store = open_store(f"sqlite:///{tmp_path / 'original.db'}")
    store.setup()
    original = SourceCoordinator(store, source="flights", owner="original/x", max_failures=100)
    original.create_partitions(["k"])
    lease = acquired(original)
    published = written_before(lease, tmp_path / "out")
    files = [sqlite3.connect(tmp_path / name) for name in ("original.db", "c.db")]
    with closing(files[0]) as before, closing(files[1]) as to:
        before.backup(to)
    copy = open_store(f"sqlite:///{tmp_path / 'c.db'}", clock=(clock := FakeClock(datetime.now(UTC))))
    assert isinstance(copy, SqlStore)
    original.complete(lease, [published])
    clock.advance(timedelta(hours=1))
    copy.new_id()
    copied = SourceCoordinator(copy, source="flights", owner="copy/x", max_failures=100, max_lost_leases=100)
    for _ in range(1 if remembered else 9):
        copied.fail(acquired(copied), "no", retry_after=NOW)
    with caplog.at_level("WARNING"):
        found = collect(copy, "flights", tmp_path / "out", older_than=NOW, dry_run=False)
    assert (found.blocks, exists(published)) == (0, True)
    assert found.unmarked == (str(Path(published.address).parents[1]),)
    assert "1 directory(ies) below" in caplog.text
    assert "collect on the original" in caplog.text
    assert len(published_manifests(store, "flights", "clean")) == 1
    assert (run(original, tmp_path / "out").blocks, exists(published)) == (0, True)
    again = collect(copy, "flights", tmp_path / "out", older_than=NOW, dry_run=False, unmarked_are_own=True)
    assert (again.blocks, again.unmarked, len(again.foreign)) == (0, (), 1), "the original has marked it now"


@pytest.mark.parametrize("store", [7, ["a"], {"a": 1}, True])
def test_e2_a_marker_with_another_kind_of_id_is_not_understood(
    coordinator: SourceCoordinator, tmp_path: Path, store: object
) -> None:
    """E2: it is left alone, as everything that is not understood."""
    lease = acquired(coordinator)
    block = block_of(attempt := attempt_of(coordinator, lease, tmp_path))
    coordinator.fail(lease, "no", retry_after=NOW)
    marker = Path(attempt.directory, "_attempt.json")
    marker.write_text(json.dumps(json.loads(marker.read_text()) | {"store": store}))
    found = run(coordinator, tmp_path)
    assert (found.blocks, found.unknown) == (0, (attempt.directory,))
    assert exists(block)


@pytest.mark.parametrize("published_by_link", [True, False])
def test_e2_published_output_survives_whatever_its_root_is_called(
    coordinator: SourceCoordinator, tmp_path: Path, published_by_link: bool
) -> None:
    """E2: through a symbolic link the addresses differ, and the collector took what was published for a loser."""
    (tmp_path / "out").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "out", target_is_directory=True)
    writer, collector = (tmp_path / name for name in (("link", "out") if published_by_link else ("out", "link")))
    lost = acquired(coordinator)
    loser = block_of(attempt_of(coordinator, lost, writer))
    coordinator.fail(lost, "no", retry_after=NOW)
    won = acquired(coordinator)
    blocks = [block_of(attempt := attempt_of(coordinator, won, writer))]
    blocks.append(block_of(attempt, follows=blocks[0]))
    coordinator.complete(won, blocks)
    found = run(coordinator, collector)
    assert (found.blocks, exists(loser)) == (1, False)
    assert len(published_manifests(coordinator.store, "flights", "clean")) == 2
    assert [exists(block) for block in blocks] == [True, True]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"older_than": None}, r"older_than=None: is no duration\. Give a timedelta"),
        ({"older_than": timedelta(seconds=-1)}, "older_than=.*: is negative"),
        ({"store": "memory://"}, r"store='memory://': is an address, not a store\. Give open_store\(…\) of it"),
    ],
)
def test_what_cannot_be_meant_is_said(tmp_path, changes, said):
    told = {"store": open_store("memory://"), "source": "flights", "output_root": tmp_path, **changes}
    with pytest.raises(InvalidInputError, match=said):
        collect(**told)
