"""Killed at every point from the completing write to the end of ``then=``: in the end exactly what is meant is gone."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fsspec
import pytest

from airflow_coordination.follow_ups import FollowUpRights, follow_up_all
from airflow_coordination.leases import PartitionIdentifier, PartitionStatus, SourceCoordinator
from airflow_coordination.stores import open_store
from tests.house.tree import ROOT
from tests.integration.follow_ups import dying

MEANT, OTHER = ("a", "b", "c"), "other"
POINTS = 14
"""Before and after: the completing write, two looks for notes, three deletions, and the clearing of the note."""


@pytest.fixture(params=["files", "S3"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "files":
        return str(tmp_path / "in")
    request.getfixturevalue("s3")
    return f"s3://{request.getfixturevalue('bucket')}/in"


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'store.db'}"


@pytest.fixture
def one(url: str) -> SourceCoordinator:
    store = open_store(url)
    store.setup()
    return SourceCoordinator(store, "s", "a person")


@pytest.fixture
def made(one: SourceCoordinator, folder: str) -> Callable[[str], Any]:
    """Make a partition of new objects beside another one; give what says which of them are there."""

    def made(key: str) -> Callable[[], set[str]]:
        system, path = fsspec.core.url_to_fs(f"{folder}/{key}")
        system.makedirs(path, exist_ok=True)
        for name in (*MEANT, OTHER):
            system.pipe_file(f"{path}/{name}", b"x")
        paths = [f"{folder}/{key}/{name}" for name in MEANT]
        one.create_partitions([PartitionIdentifier(key, payload={"paths": paths})])

        def there() -> set[str]:
            system.invalidate_cache()
            return {each.rpartition("/")[2] for each in system.ls(path, detail=False)}

        return there

    return made


def run(url: str, key: str, last: int) -> subprocess.CompletedProcess[str]:
    """Let a process finish a partition that is killed at one point."""
    command = [sys.executable, "-m", "tests.integration.follow_ups.dying", url, key, str(last)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_s27_killed_at_every_point_exactly_the_right_objects_are_gone_in_the_end(one, url, made) -> None:
    undisturbed = made("undisturbed")
    whole = run(url, "undisturbed", -1)
    assert (whole.stdout, undisturbed()) == (f"{POINTS}\n", {OTHER}), whole.stderr
    seen = [_killed(one, url, made, point) for point in range(POINTS)]
    before, after = PartitionStatus.ASSIGNED, PartitionStatus.COMPLETED
    assert [status for status, *_ in seen] == [before] + [after] * (POINTS - 1)
    assert [gone for _, gone, _ in seen] == [0, 0, 0, 0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 3]
    assert [notes for *_, notes in seen] == [0, *[1] * (POINTS - 2), 0]


def _killed(one: SourceCoordinator, url: str, made: Callable[[str], Any], point: int) -> tuple[Any, int, int]:
    """Kill a process at a point, and look what there is; then let others go on, and see that all comes right."""
    key = f"killed at {point}"
    there = made(key)
    died = run(url, key, point)
    assert died.returncode == -signal.SIGKILL, died.stderr
    seen = one.partition(key)
    assert seen is not None
    assert OTHER in there()
    found = seen.status, len(MEANT) + 1 - len(there()), len(list(one.follow_ups.follow_ups(key)))
    if seen.status is PartitionStatus.ASSIGNED:
        assert seen.fence is not None
        assert one.tries.give_up_for_dead_owner(key, seen.fence)
        dying.finish(one, key)
    follow_up_all(one, key, FollowUpRights.of_a_person())
    assert (there(), list(one.follow_ups.follow_ups(key))) == ({OTHER}, [])
    return found
