"""Long chains of blocks are read in few rounds, whatever happens to the hints that make it possible."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest

from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.outputs import Attempt, Block, OutputError, Reference, collect, published, published_manifests
from airflow_coordination.stores import open_store
from airflow_coordination.systems.objects.storage import Content, read_many

PASSES = 300


@pytest.fixture
def rounds(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Note how many files each round of a reader asks for."""
    asked: list[int] = []

    def counted(addresses: list[str]) -> list[Content]:
        asked.append(len(addresses))
        return read_many(addresses)

    monkeypatch.setattr(published, "read_many", counted)
    return asked


class Publisher:
    """Adds blocks to one partition, ``blocks`` in each tenure."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.coordinator = SourceCoordinator(open_store("memory://"), source="s", owner="a test", max_failures=100)
        self.coordinator.create_partitions(["k"])
        self.last: Block | None = None

    def passes(self, number: int, blocks: int) -> None:
        for _ in range(number):
            lease = self.coordinator.get_next_partition()
            assert lease is not None
            store_id = self.coordinator.store.store_id
            attempt = Attempt(str(self.root), lease.partition.source, "k", lease.fence, store_id)
            made = []
            for _ in range(blocks):
                opened = attempt.open("clean")
                Path(opened.path).mkdir(parents=True)
                Path(opened.path, "part-0.txt").write_text("1")
                follows = Reference(self.last.address, self.last.digest) if self.last else None
                self.last = attempt.finish(opened, follows=follows, file_format="text")
                made.append(self.last)
            self.coordinator.close(lease, timedelta(0), {"n": 1}, made)

    def addresses(self) -> list[str]:
        return [manifest.address for manifest in published_manifests(self.coordinator.store, "s", "clean")]


@pytest.mark.parametrize(("tenures", "blocks"), [(PASSES, 1), (PASSES // 3, 3), (1, PASSES)])
def test_e16_manifests_of_many_passes_are_read_side_by_side(
    tmp_path: Path, rounds: list[int], tenures: int, blocks: int
) -> None:
    """E16: 2,000 passes were 2,000 reads, one after the other."""
    publisher = Publisher(tmp_path)
    publisher.passes(tenures, blocks)
    found = publisher.addresses()
    assert len(found) == len(set(found)) == PASSES
    asked = [number for number in rounds if number]
    assert len(asked) <= 30, asked
    assert sum(asked) <= PASSES + 3 * len(asked), "nothing is read twice"


def test_e16_a_trail_is_a_hint_only(tmp_path: Path) -> None:
    """E16: whatever is in one, or none at all: the chain decides, digest by digest."""
    publisher = Publisher(tmp_path)
    publisher.passes(40, 1)
    expected = publisher.addresses()
    trails = sorted(tmp_path.rglob("_trail.json"))
    assert len(trails) == 5
    hostile = [["/etc/passwd", "0" * 64], ["file:///etc/passwd", "0"], [expected[0], "0" * 64], [expected[-1], "x"]]
    for content in ("", "[" * 100_000, "{}", "[[1]]", "[7]", "null", json.dumps(hostile)):
        for trail in trails:
            trail.write_text(content)
        assert publisher.addresses() == expected
    publisher.passes(8, 1)
    for trail in tmp_path.rglob("_trail.json"):
        trail.unlink()
    assert publisher.addresses()[:40] == expected
    Path(expected[3]).write_text("{}")
    with pytest.raises(OutputError, match="was changed after it was published"):
        publisher.addresses()


def test_e16_a_trail_that_cannot_be_read_is_not_needed(tmp_path: Path) -> None:
    """E16: a reader without the right to list is denied what does not exist, too; so it read nothing at all."""
    publisher = Publisher(tmp_path)
    publisher.passes(20, 1)
    expected = publisher.addresses()
    for trail in tmp_path.rglob("_trail.json"):
        trail.unlink()
        trail.mkdir()
    assert publisher.addresses() == expected
    publisher.passes(8, 1)
    assert publisher.addresses()[:20] == expected
    assert collect(publisher.coordinator.store, "s", tmp_path, older_than=timedelta(0), dry_run=False).blocks == 0
    Path(expected[3]).unlink()
    Path(expected[3]).mkdir()
    with pytest.raises(OutputError, match="answers IsADirectoryError"):
        publisher.addresses()


def test_e16_a_chain_of_the_version_before_gets_a_trail_with_its_next_passes(tmp_path: Path, rounds: list[int]) -> None:
    """E16: it has none yet, and the walk back to its beginning is made once."""
    publisher = Publisher(tmp_path)
    publisher.passes(60, 1)
    for trail in tmp_path.rglob("_trail.json"):
        trail.unlink()
    publisher.passes(8, 1)
    assert len(publisher.addresses()) == 68
    assert len([number for number in rounds if number]) <= 12


def test_e16_the_collector_keeps_followed_blocks_and_takes_trails_with_the_rest(tmp_path: Path) -> None:
    """E16: a trail belongs to its block."""
    publisher = Publisher(tmp_path)
    publisher.passes(17, 1)
    assert collect(publisher.coordinator.store, "s", tmp_path, older_than=timedelta(0), dry_run=False).blocks == 0
    publisher.coordinator.people.reset("k", "me", "afresh")
    publisher.last = None
    publisher.passes(1, 1)
    assert collect(publisher.coordinator.store, "s", tmp_path, older_than=timedelta(0), dry_run=False).blocks == 17
    assert list(tmp_path.rglob("_trail.json")) == []
