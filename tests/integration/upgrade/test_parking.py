"""What is to follow a parking, beside the version before, which knows nothing of it (S16, S27)."""

from __future__ import annotations

import pytest

from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.stores import open_store
from tests.integration.upgrade.conftest import Starts

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("way", ["park", "fail_dead"])
def test_z11_what_the_version_before_parks_is_followed(url: str, before: Starts, way: str) -> None:
    """A parked partition is the note itself, whoever has parked it; what older code resets has nothing to follow."""
    old = before(url)
    old.does("setup")
    open_store(url).setup()
    one = SourceCoordinator(open_store(url), "flights", "new")
    one.create_partitions(["k"])
    lease = one.acquire_partition("k")
    assert lease is not None
    one.on_parked(lease, "1")
    one.save_progress_state(lease, {"row": 1})
    old.does(way, "k", str(lease.fence))
    [note] = one.follow_ups.follow_ups()
    assert (note.key, note.text) == ("k", "1")
    one.people.reopen("k", "ana", "mended")
    assert old.does("acquire", "k") is not None
    old.does("park", "k", "")
    assert [each.text for each in one.follow_ups.follow_ups()] == ["1"]
    old.does("reset", "k")
    one.people.park("k", "ana", "broken")
    assert list(one.follow_ups.follow_ups()) == []
