"""Calls of workers of older code: a line of JSON says which, and a line of JSON says what came of it.

It runs beside nothing of today: the package that it imports is the frozen one, of schema 1, 9 or 13. A worker is
a number and the URL of its store; it keeps its leases by key from one call to the next.

Usage: ``python old_calls.py``, then ``[1, "sqlite:///…", "acquire", ["k"]]`` and so on on standard input.
"""

from __future__ import annotations

import faulthandler
import json
import sys
import traceback
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import airflow_coordination
from airflow_coordination.leases import Block, CoordinationError, Fence, PartitionIdentifier, SourceCoordinator
from airflow_coordination.outputs.manifests import DataFile, Manifest
from airflow_coordination.stores import open_store
from airflow_coordination.stores.sql.schema import SCHEMA_VERSION

IN_PARTS = SCHEMA_VERSION >= 13
"""Whether limits are settings, and what people do is a part of the coordinator."""
if IN_PARTS:
    from airflow_coordination.values.times import SystemClock
else:
    from airflow_coordination.leases.clock import SystemClock

OWNER = "old/dag/run/task/0/1"
PATIENCE = 60
LEASE = timedelta(hours=1)
ASKED = timedelta(minutes=10)
"""How long an owner has to hand over."""
_LIMITS: dict[str, Any] = {"ownership_timeout": LEASE, "max_lost_leases": 7, "max_failures": 9}


class Later(SystemClock):
    """A clock that is ahead by so much."""

    def __init__(self, by: timedelta) -> None:
        self._by = by

    def now(self) -> datetime:
        return datetime.now(UTC) + self._by


class Calls:
    """The calls, each named as the coordinator's own where there is one."""

    def __init__(self, url: str) -> None:
        self._url, self._leases = url, dict[str, Any]()
        self._one = self._worker()

    def _worker(self, owner: str = OWNER, clock: SystemClock | None = None) -> Any:
        store = open_store(self._url, clock=clock)
        if not IN_PARTS:
            return SourceCoordinator(store, "flights", owner, **_LIMITS)
        from airflow_coordination.leases import Settings

        return SourceCoordinator(store, "flights", owner, settings=Settings(**_LIMITS))

    def _kept(self, lease: Any) -> str | None:
        if lease is None:
            return None
        self._leases[lease.key] = lease
        return str(lease.fence)

    # What every version knows.

    def ahead(self, hours: int) -> None:
        """Go on by a clock that is ahead by so many hours."""
        self._one = self._worker(clock=Later(timedelta(hours=hours)))

    def setup(self) -> None:
        self._one.store.setup()

    def create(self, *keys: str) -> int:
        return int(self._one.create_partitions(keys).created)

    def acquire(self, key: str | None = None) -> str | None:
        """Acquire what comes next, or this partition, and renew the lease."""
        lease = self._one.get_next_partition() if key is None else self._one.acquire_partition(key)
        return self._kept(lease and self._one.renew(lease))

    def hinted(self, hint: str) -> str | None:
        """The key of what a hint leads to."""
        lease = self._one.get_next_partition(hint=hint)
        self._kept(lease)
        return lease and str(lease.key)

    def hints(self) -> list[str]:
        return list(self._one.claimable())

    def retake(self, key: str, owner: str) -> str | None:
        return self._kept(self._worker(owner).retake(key))

    def renew(self, key: str) -> None:
        self._leases[key] = self._one.renew(self._leases[key])

    def save(self, key: str, state: object, block: str) -> None:
        self._leases[key] = self._one.save_progress_state(self._leases[key], state, [_block(block)])

    def complete(self, key: str, block: str | None = None) -> None:
        self._one.complete(self._leases.pop(key), [_block(block)] if block else [])

    def close(self, key: str, state: object) -> None:
        self._one.close(self._leases.pop(key), timedelta(0), state)

    def fail(self, key: str, error: str) -> None:
        self._one.fail(self._leases.pop(key), error, retry_after=timedelta(0))

    def give_up(self, key: str) -> None:
        self._one.give_up(self._leases.pop(key))

    def reset(self, key: str) -> None:
        people = self._one.people if IN_PARTS else self._one
        people.reset(key, "ana", "again")

    def delete(self, key: str) -> None:
        people = self._one.people if IN_PARTS else self._one
        people.delete(key, "ana", "gone")

    def park(self, key: str, fence: str) -> None:
        self._one.park(key, "ana", "broken")

    def fail_dead(self, key: str, fence: str) -> None:
        """Fail a tenure for good, because its driver is dead."""
        strict = SourceCoordinator(self._one.store, "flights", OWNER, max_failures=1)
        assert strict.fail_for_dead_owner(key, Fence.parse(fence), "dead")

    def drain(self) -> list[str]:
        """Complete whatever there is, and return its keys."""
        done = []
        while (lease := self._one.get_next_partition()) is not None:
            self._one.complete(lease)
            done.append(lease.key)
        return done

    def sweep(self) -> list[int]:
        """How many leases are reclaimed, how many partitions are parked."""
        swept = self._one.sweep()
        return [swept.reclaimed, swept.parked]

    def partition(self, key: str) -> dict[str, Any]:
        seen = self._one.partition(key)
        names = ("status", "token", "owner", "progress_state", "closed_count", "failures", "lost_leases", "parked")
        return {name: getattr(seen, name) for name in names}

    def heads(self, key: str) -> list[str]:
        """The digests of what is published."""
        return [block.digest for head in self._one.store.heads("flights|PARTITION", key=key) for block in head.blocks]

    # What schema 9 knows.

    def child(self, key: str, *parents: str) -> None:
        self._one.create_partitions([PartitionIdentifier(key, parents=parents)])

    def note(self, key: str, then: str) -> None:
        """Complete with a note of what follows."""
        self._one.complete(self._leases.pop(key), then=then)

    def follow_ups(self) -> list[tuple[str, str]]:
        return [(note.key, note.text) for note in self._one.follow_ups()]

    def clear(self) -> None:
        for note in list(self._one.follow_ups()):
            self._one.clear_follow_up(note)

    def pause(self) -> None:
        self._one.pause("ana", "maintenance")

    def resume(self) -> None:
        self._one.resume("ana", "mended")

    def paused(self) -> tuple[bool, str | None]:
        pause = self._one.current_pause()
        return pause.paused, pause.by

    def wanted(self, key: str) -> bool:
        """Whether somebody wants the lease, as this worker learns from its own renewal."""
        self.renew(key)
        return bool(self._leases[key].wanted)

    def hand_over(self, key: str) -> None:
        self._one.hand_over(self._leases.pop(key))

    def ask(self, key: str) -> bool:
        return bool(self._one.ask(self._one.partition(key), ASKED))

    def steal(self, key: str) -> str | None:
        """Take a lease that was asked for, when the time that was given is over."""
        later = self._worker(clock=Later(3 * ASKED))
        return self._kept(later.steal(later.partition(key)))

    def history(self, key: str) -> list[str]:
        return [tenure.outcome.value for tenure in self._one.history(key)]

    def actions(self) -> list[str]:
        """Who did what to the source itself, in its audit."""
        return [f"{done['action']} by {done['by']}" for done in self._one.pauses()]

    def handed(self, text: str) -> str:
        """What a driver makes of a hand-over: its partition and owner."""
        from airflow_coordination.leases import HandOver

        given = HandOver.from_json(text)
        return f"{given.key} of {given.owner}"

    def manifest(self, text: str) -> list[str]:
        """The files that a manifest names."""
        return [file.path for file in Manifest.from_bytes(text.encode(), "/out/block/_manifest.json").files]

    def publish(self, root: str, key: str, rows: list[str], mode: str) -> None:
        """Acquire a partition that is due, write a block of rows, and complete it."""
        from airflow_coordination.outputs import Attempt, Reference

        store, lease = self._one.store, self._one.acquire_partition(key)
        heads = store.heads("flights|PARTITION", "clean", key) if mode == "append" else ()
        follows = [Reference(block.address, block.digest) for head in heads for block in head.blocks]
        attempt = Attempt(root, "flights|PARTITION", key, lease.fence, store.store_id)
        opened = attempt.open("clean")
        Path(opened.path).mkdir(parents=True)
        (Path(opened.path) / "part-0.json").write_text("".join(json.dumps({"row": row}) + "\n" for row in rows))
        given: Any = {"mode": mode, "follows": follows[-1] if follows else None, "file_format": "json"}
        self._one.complete(lease, [attempt.finish(opened, **given)])

    def rows(self) -> list[str]:
        """What a reader finds."""
        from airflow_coordination.outputs import published_manifests

        manifests = published_manifests(self._one.store, "flights", "clean")
        files = [Path(each.directory) / file.path for each in manifests for file in each.files]
        return sorted(json.loads(line)["row"] for file in files for line in file.read_text().splitlines())

    def collect(self, root: str, source: str) -> int:
        """How many blocks the collector has deleted, without any margin."""
        from airflow_coordination.outputs import collect

        older_than = timedelta(0)
        return int(collect(self._one.store, source, root, older_than=older_than, dry_run=False).blocks)

    # What schema 13 has at hand: how partitions of objects are made, and read.

    def object_paths(self, key: str) -> Any:
        """The addresses of a partition's objects, or what a function that asks for them fails with."""
        from airflow_coordination.systems.objects.listing import object_paths

        try:
            return object_paths(self._one.partition(key).payload)
        except KeyError as error:
            return f"KeyError: {error}"

    def delete_objects(self, key: str) -> list[str]:
        """What ``then=DeleteObjects.of(…)`` would delete."""
        from airflow_coordination.systems.objects.deletion import DeleteObjects

        return list(DeleteObjects.of(self._one.partition(key)).paths)

    def list_objects(self, folder: str, max_objects: int, source: str = "flights") -> int:
        """How many partitions its supplier creates of the groups of a folder."""
        from airflow_coordination.systems.objects.supplier import object_listing

        listing = object_listing(folder, scan="once", max_objects=max_objects)
        return int(SourceCoordinator(self._one.store, source, OWNER).run_supplier(listing).created.created)

    def manifest_of(self, schema: str | None) -> str:
        """A manifest as this code writes it."""
        files = (DataFile("a.parquet", 10, 1),)
        given: dict[str, Any] = {"source": "flights|PARTITION", "key": "k", "dataset": "clean", "fence": "1-a"}
        given |= {"schema": schema} if schema else {}
        return Manifest(directory="/out/block", files=files, rows=1, **given).to_bytes().decode()


def _block(name: str) -> Block:
    return Block("clean", f"/out/{name}", name, 1, 10)


def answers() -> Iterator[dict[str, Any]]:
    """Do what each line says."""
    workers: dict[int, Calls] = {}
    for line in sys.stdin:
        faulthandler.dump_traceback_later(PATIENCE, exit=True)
        number, url, what, given = json.loads(line)
        try:
            calls = workers.setdefault(number, Calls(url))
            yield {"answer": getattr(calls, what)(*given)}
        except CoordinationError as error:
            yield {"refused": f"{type(error).__name__}: {error}"}
        except Exception:
            yield {"broken": traceback.format_exc()}
        faulthandler.cancel_dump_traceback_later()


if __name__ == "__main__":
    print(json.dumps({"answer": [airflow_coordination.__file__, SCHEMA_VERSION]}), flush=True)
    for answer in answers():
        print(json.dumps(answer), flush=True)
