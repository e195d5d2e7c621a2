"""A purger that is stopped in the middle, for longer than a restore or another purger's work takes, loses nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from airflow_coordination.leases import InvalidInputError
from airflow_coordination.planning.periods import Period
from airflow_coordination.planning.view.view import EMPTY
from airflow_coordination.stores.sql.sqlite_store import SqliteStore
from airflow_coordination.stores.sql.store import SqlStore
from tests.retention import Archive

FIRST, SECOND = "2013-01-01/P1D", "2013-01-02/P1D"


@pytest.fixture(params=["sqlite_store", pytest.param("postgres_store", marks=pytest.mark.postgres)])
def archive(request: pytest.FixtureRequest) -> Archive:
    store: SqlStore = request.getfixturevalue(request.param)
    archive = Archive(store=store)
    archive.publish("a", FIRST)
    archive.publish("b", SECOND)
    archive.hide()
    return archive


class Stopped:
    """A purger in a process of its own, stopped."""

    def __init__(self, url: str, call: str) -> None:
        command = [sys.executable, "-m", "tests.integration.stores.stopped_purger", url, call]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        _, status = os.waitpid(self.process.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status), f"it ended before {call}"

    def goes_on(self) -> str:
        """Let it go on to its end, and return what it says."""
        self.process.send_signal(signal.SIGCONT)
        out, _ = self.process.communicate(timeout=60)
        assert self.process.returncode == 0
        return out


@pytest.fixture
def stopped(archive: Archive, request: pytest.FixtureRequest) -> Iterator:
    url = request.getfixturevalue("sqlite_url" if isinstance(archive.store, SqliteStore) else "postgres_store_url")
    started: list[Stopped] = []

    def start(call: str) -> Stopped:
        started.append(Stopped(url, call))
        return started[-1]

    yield start
    for each in started:
        if each.process.poll() is None:
            each.process.kill()
            each.process.communicate()


def test_s23_what_was_restored_while_it_slept_stays(archive: Archive, stopped) -> None:
    """It sleeps before its mark; what is hidden once more afterwards is another entry, with a margin of its own."""
    late = stopped("set_document")
    archive.restore()
    before = archive.seen()
    assert set(before) == {"a", "b"}
    archive.hide()
    assert "marked=0, emptied=0" in late.goes_on()
    archive.restore()
    assert archive.seen() == before


def test_s23_nobody_can_restore_what_it_has_marked(archive: Archive, stopped) -> None:
    """It sleeps before its first retract."""
    late = stopped("act")
    with pytest.raises(InvalidInputError, match="being purged"):
        archive.restore()
    assert "marked=1, emptied=2" in late.goes_on()
    assert (archive.full(), archive.view) == ([], EMPTY)


@pytest.mark.parametrize("call", ["act", "get"])
def test_s23_what_is_published_anew_after_another_has_purged_it_stays(archive: Archive, stopped, call: str) -> None:
    """It sleeps after its mark, while another purger does all of its work, and both partitions publish anew."""
    late = stopped(call)
    if call == "get":
        archive.purge(buffer=Period())  # it marks, which the late one has not done yet
    else:
        assert archive.purge(buffer=Period()).emptied == 2
    assert archive.view == EMPTY
    archive.publish("a", FIRST)
    archive.publish("b", SECOND)
    before = archive.seen()
    assert set(before) == {"a", "b"}
    assert "emptied=0" in late.goes_on()
    assert archive.seen() == before
