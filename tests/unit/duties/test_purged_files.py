"""The purge on real files: its dry run names exactly those that the collector deletes later, and readers finish."""

from __future__ import annotations

import os
import time
from datetime import timedelta
from pathlib import Path

import pytest

from airflow_coordination.cli.doctor_stored import look_at_published
from airflow_coordination.duties.retention.purge import Purged, purge, to_purge
from airflow_coordination.leases import Lease
from airflow_coordination.outputs import Attempt, Block, Manifest, collect, published_manifests
from airflow_coordination.outputs.collector import foreseen
from airflow_coordination.outputs.layout import attempts_root
from airflow_coordination.outputs.manifests import Reference
from airflow_coordination.planning.unused.deleting import Margins
from airflow_coordination.planning.view import changing
from airflow_coordination.stores.diagnostics import Verdict
from airflow_coordination.systems.objects.storage import join, read_bytes, write_bytes
from tests.retention import DAY, JANUARY, SOURCE, STORED, Archive, margins, said

LINKS = 40
"""So many that there is a trail."""
FIRST, SECOND, LATER = "2013-01-01/P1D", "2013-01-02/P1D", "2013-02-01/P1D"


class Files(Archive):
    """An archive whose partitions write files as Spark does, with checksums beside them."""

    root: Path
    replaced: set[str]
    """What the collector may delete already, whatever is purged."""

    def attempt(self, lease: Lease) -> Attempt:
        return Attempt(str(self.root), STORED, lease.key, lease.fence, self.store.store_id)

    def block(self, attempt: Attempt, rows: str, dataset: str = "clean", follows: Block | None = None) -> Block:
        opened = attempt.open(dataset)
        write_bytes(join(opened.path, f"part-0-{rows}.json"), rows.encode())
        write_bytes(join(opened.path, f".part-0-{rows}.json.crc"), b"crc")
        reference = Reference(follows.address, follows.digest) if follows else None
        return attempt.finish(opened, follows=reference, file_format="json")

    def ingest(self, key: str, interval: str, rows: str, branch: int | None = None, links: int = 1) -> None:
        """Let a partition publish rows as a chain of blocks, and one row to another dataset in the same attempt."""
        flights = self.flights
        flights.create_partitions([key])
        self.reset(key, branch)
        lease = flights.acquire_partition(key)
        assert lease is not None
        attempt = self.attempt(lease)
        block = self.block(attempt, rows)
        for number in range(1, links):
            block = self.block(attempt, f"{rows}{number}", follows=block)
        flights.complete(lease, [block, self.block(attempt, f"{rows}x", "rejected")], interval=interval)

    def listing(self) -> set[str]:
        return {str(path) for path in self.root.rglob("*") if path.is_file()}

    def age(self) -> None:
        """Let what is written be old by the machine's clock, too, as it is by the store's."""
        old = time.time() - 3 * DAY.total_seconds()
        for path in self.root.rglob("*"):
            os.utime(path, (old, old))

    def collect(self, older_than: timedelta = DAY) -> set[str]:
        """Collect, and return which files have gone."""
        before = self.listing()
        collect(self.store, SOURCE, self.root, older_than=older_than, dry_run=False)
        return before - self.listing()

    def foreseen(self, given: Margins | None = None) -> set[str]:
        found = to_purge(self.flights, given or margins())
        emptied = {(each.head.dataset, each.head.key) for each in found.heads}
        files = foreseen(self.store, SOURCE, self.root, emptied)
        assert all(Path(attempts_root(str(self.root)), each.path).stat().st_size == each.size for each in files)
        return {join(attempts_root(str(self.root)), each.path) for each in files}


@pytest.fixture
def files(tmp_path: Path) -> Files:
    files = Files()
    files.root = tmp_path
    files.ingest("b", SECOND, "b")
    files.replaced = files.listing()
    files.ingest("b", SECOND, "B")
    files.ingest("a", FIRST, "a", links=LINKS)
    files.ingest("c", LATER, "c")
    files.clock.advance(200 * DAY)
    files.age()
    return files


def read(manifests: list[Manifest]) -> list[str]:
    addresses = [join(each.directory, file.path) for each in manifests for file in each.files]
    return sorted(read_bytes(address).decode() for address in addresses)


def seen(files: Files, dataset: str = "clean") -> list[Manifest]:
    return published_manifests(files.store, SOURCE, dataset)


def test_s23_hide_restore_hide_purge(files: Files) -> None:
    """The dry run names the files that go later, all of them and no other; a reader that has begun before finishes."""
    files.hide()
    assert read(seen(files)) == ["c"]
    files.restore()
    plan = seen(files)
    everything = read(plan)
    assert len(everything) == LINKS + 2
    files.hide()
    files.clock.advance(31 * DAY)
    told = files.foreseen()
    for name, number in {
        ".json.crc": LINKS + 1,
        "_manifest.json": LINKS + 1,
        "_trail.json": LINKS // 16,
        "_attempt.json": 0,
    }.items():
        assert len([path for path in told if path.endswith(name)]) == number
    assert files.purge().emptied == 2
    files.clock.advance(DAY / 2)
    assert files.collect() == set()
    assert (read(plan), read(seen(files))) == (everything, ["c"])
    files.clock.advance(DAY / 2)
    assert files.collect() == told | files.replaced
    assert (read(seen(files)), len(read(seen(files, "rejected")))) == (["c"], 3)
    with pytest.raises(FileNotFoundError):
        read(plan)


def test_the_marker_of_an_attempt_goes_with_its_last_block(files: Files) -> None:
    files.hide()
    files.change(lambda view: changing.hidden(view, "rejected", said(JANUARY), "ana", "old", files.clock.now()))
    files.clock.advance(31 * DAY)
    both = Margins(datasets=["clean", "rejected"])
    told = files.foreseen(both)
    assert len([path for path in told if path.endswith("_attempt.json")]) == 2
    assert purge(files.flights, both, by="ana", why="space").emptied == 4
    files.clock.advance(DAY)
    assert files.collect() == told | files.replaced
    assert len(files.listing()) == len(seen(files)) * 3 + len(seen(files, "rejected")) * 3 + 1 == 7


def test_files_that_others_still_need_are_not_told_and_do_not_go(files: Files) -> None:
    """The partition that has begun anew follows what it has saved; so the purge waits, and nothing is told."""
    files.reset("a")
    flights = files.flights
    lease = flights.acquire_partition("a")
    assert lease is not None
    flights.save_progress_state(lease, {"n": 1}, [files.block(files.attempt(lease), "saved")])
    files.hide()
    files.clock.advance(31 * DAY)
    told = files.foreseen()
    assert told
    assert not [path for path in told if "-a/" in path]
    files.purge()
    files.clock.advance(DAY)
    assert files.collect() == told | files.replaced


def test_a_final_branch_lets_go_what_it_hides(files: Files) -> None:
    number = files.begin()
    files.ingest("a", FIRST, "new", number)
    before = files.listing()
    files.show(number)
    files.clock.advance(31 * DAY)
    files.age()
    assert (files.foreseen(), files.collect()) == (set(), files.replaced)
    files.finalize(number)
    files.clock.advance(31 * DAY)
    told = files.foreseen()
    assert told
    assert files.purge().emptied == 1
    files.clock.advance(DAY)
    assert files.collect() == told
    assert read(seen(files)) == ["B", "c", "new"]
    assert files.listing() == before - told - files.replaced


def test_what_a_begun_branch_has_staged_or_published_stays(files: Files) -> None:
    """Also behind a hidden interval that is purged meanwhile, and behind a roll back until its own margin."""
    number = files.begin(2)
    files.hide()
    files.ingest("a", FIRST, "new", number)
    files.reset("b", number)
    flights = files.flights
    lease = flights.acquire_partition("b")
    assert lease is not None
    flights.give_up(flights.save_progress_state(lease, {"n": 1}, [files.block(files.attempt(lease), "saved")]))
    files.clock.advance(31 * DAY)
    files.age()
    of_branch = {path for path in files.listing() if "-new" in path or "-saved" in path}
    told = files.foreseen()
    assert files.purge() == Purged(marked=1, emptied=1, skipped={"staged": 1})
    files.clock.advance(2 * DAY)
    files.collect()
    assert not told & files.listing()
    assert of_branch <= files.listing()
    files.roll_back(number)
    files.clock.advance(29 * DAY)
    files.purge()
    files.collect()
    assert of_branch <= files.listing()
    files.clock.advance(2 * DAY)
    told = files.foreseen()
    assert {path for path in of_branch if "-new." in path} <= told
    files.purge()
    files.clock.advance(DAY)
    assert files.collect() == told


def test_the_doctor_understands_what_was_purged(files: Files) -> None:
    number = files.begin()
    files.ingest("a", FIRST, "new", number)
    files.show(number)
    files.finalize(number)
    files.clock.advance(31 * DAY)
    files.age()
    files.purge()
    files.clock.advance(DAY)
    assert files.collect()
    [finding] = look_at_published(files.store, SOURCE)
    assert finding.verdict is Verdict.OK
