"""The file of the queue before SQLite's write lock: open while somebody uses it, and no longer."""

import os
import threading
import time
from pathlib import Path

import pytest

from airflow_coordination.leases import StoreUnavailableError
from airflow_coordination.stores import open_store
from airflow_coordination.stores.calls import Call
from airflow_coordination.stores.sql.sqlite import WriteLock

SAVE = Call("save")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "queue"


def opened(folder):
    """Return how many files of a folder this process has open."""
    files = []
    for one in Path("/proc/self/fd").iterdir():
        try:
            files.append(os.readlink(one))
        except FileNotFoundError:  # that of the listing itself
            continue
    return sum(name.startswith(str(folder)) for name in files)


def closes(folder):
    """Wait until no file is open any more: a thread that waits for the turn of another lets it go first."""
    until = time.monotonic() + 60
    while opened(folder):
        assert time.monotonic() < until
        time.sleep(0.01)


def takes_a_turn(queue):
    with queue.turn(SAVE):
        return True


def refused(path):
    with pytest.raises(StoreUnavailableError):
        takes_a_turn(WriteLock(path, 0.05))
    return True


def test_a_store_that_is_closed_leaves_no_file_open(tmp_path):
    store = open_store(f"sqlite:///{tmp_path}/c.db")
    store.setup()
    assert opened(tmp_path) > 0
    store.close()
    assert opened(tmp_path) == 0
    assert store.sources() == [], "it opens what it needs again"
    store.close()


def test_one_that_was_closed_opens_again(path):
    queue = WriteLock(path, 5)
    for _ in range(2):
        with queue.turn(SAVE):
            assert refused(path)
        queue.close()
        queue.close()
        closes(path)


def test_closed_within_a_turn_it_lets_nobody_in(path):
    queue = WriteLock(path, 5)
    with queue.turn(SAVE):
        queue.close()
        assert refused(path)
    assert takes_a_turn(WriteLock(path, 5))


def test_one_that_is_forgotten_closes_its_file(path):
    queue = WriteLock(path, 5)
    assert takes_a_turn(queue)
    del queue
    assert opened(path) == 0


def test_the_thread_that_waits_closes_its_own_and_ends(path):
    queue = WriteLock(path, 0.05)
    other = WriteLock(path, 5)
    with other.turn(SAVE):
        with pytest.raises(StoreUnavailableError):
            takes_a_turn(queue)
        queue.close()
        assert opened(path) > 1, "it still waits, for a lock that it will let go"
    other.close()
    closes(path)
    assert takes_a_turn(queue)


def test_threads_that_close_and_write_at_once_have_one_turn_at_a_time(path):
    queue, inside, seen = WriteLock(path, 60), [], []

    def write():
        for _ in range(200):
            with queue.turn(SAVE):
                inside.append(1)
                seen.append(len(inside))
                inside.pop()
            queue.close()

    threads = [threading.Thread(target=write) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert seen == [1] * 800
