"""As many objects as one ``then=`` may name; in CI a tenth of them: ``tests/left_out.py``."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_coordination.duties.follow_ups import note_of
from airflow_coordination.follow_ups import DeleteObjects, FollowUpRights, follow_up_all
from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.protocol.follow_up import MAX_BYTES
from airflow_coordination.stores import open_store
from airflow_coordination.systems.objects.deletion import MAX_OBJECTS
from tests.share import SHARE


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_list_of_100_000_objects_is_a_short_note_and_a_file_until_it_is_done(tmp_path: Path) -> None:
    (folder := tmp_path / "in").mkdir()
    paths = [folder / f"{number:06}" for number in range(round(MAX_OBJECTS * SHARE))]
    for path in paths:
        path.touch()
    (folder / "other").touch()
    one = SourceCoordinator(open_store("memory://"), "s", "me")
    one.create_partitions(["k"])
    lease = one.acquire_partition("k")
    assert lease is not None
    note = note_of(DeleteObjects([str(path) for path in paths]), lease.partition, lease.fence, str(tmp_path / "out"))
    assert note is not None
    assert len(note) < MAX_BYTES
    one.complete(lease, then=note)
    assert follow_up_all(one, rights=FollowUpRights.of_a_person()).done == 1
    assert [file.name for file in folder.iterdir()] == ["other"]
    assert not [file for file in (tmp_path / "out").rglob("*") if file.is_file()]
