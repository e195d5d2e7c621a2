"""Several processes and threads on one store: forks, the write queue, kills and crashes (S4)."""

from __future__ import annotations

import fcntl
import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from airflow_coordination.stores import open_store
from airflow_coordination.stores.calls import Call
from airflow_coordination.stores.sql.sqlite import WriteLock
from airflow_coordination.stores.sql.store import SqlStore
from airflow_coordination.values.errors import StoreUnavailableError
from airflow_coordination.values.status import PartitionStatus
from tests.engines.postgres import PrivateServer, fresh_database, private_server
from tests.integration.stores.conftest import SOURCE, creation, ending, following

S = PartitionStatus


@pytest.fixture(params=["sqlite_store", pytest.param("postgres_store", marks=pytest.mark.postgres)])
def store(request: pytest.FixtureRequest) -> SqlStore:
    found: SqlStore = request.getfixturevalue(request.param)
    return found


def test_a_forked_child_and_its_parent_both_go_on(store: SqlStore) -> None:
    store.create(creation([f"k{number}" for number in range(40)]))
    child = os.fork()
    if child == 0:
        done = 0
        try:
            for _ in range(20):
                held = store.acquire_next(following())
                done += held is not None and store.write(ending(held)).applied
        finally:
            os._exit(0 if done == 20 else 1)
    for _ in range(20):
        held = store.acquire_next(following())
        assert held is not None
        assert store.write(ending(held)).applied
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert store.counts(SOURCE)[S.COMPLETED] == 40


def test_threads_share_a_store(store: SqlStore) -> None:
    store.create(creation([f"k{number}" for number in range(60)]))
    keys: list[str] = []

    def drain() -> None:
        while (held := store.acquire_next(following())) is not None:
            assert store.write(ending(held)).applied
            keys.append(held.key)

    threads = [threading.Thread(target=drain) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(keys) == sorted(f"k{number}" for number in range(60))


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that has taken the queue's lock and was then stopped."""
    code = f"""
        import fcntl, time
        file = open({str(tmp_path / "queue")!r}, "w")
        fcntl.flock(file, fcntl.LOCK_EX)
        print("held", flush=True)
        time.sleep(600)
    """
    process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    process.send_signal(signal.SIGSTOP)
    yield process
    process.kill()
    process.wait()


def test_a_stopped_holder_of_the_queue_hangs_nobody_for_ever(tmp_path: Path, holder: subprocess.Popen[str]) -> None:
    queue = WriteLock(tmp_path / "queue", 0.3)
    for _ in range(2):
        with (
            pytest.raises(StoreUnavailableError, match=r"has held the write queue .* for 0\.3 s"),
            queue.turn(Call("save")),
        ):
            raise AssertionError("the queue let two writers in")


def test_the_queue_goes_on_when_the_holder_is_killed(tmp_path: Path, holder: subprocess.Popen[str]) -> None:
    queue = WriteLock(tmp_path / "queue", 30)
    threading.Timer(0.1, holder.kill).start()
    with queue.turn(Call("save")):
        pass
    with (tmp_path / "queue").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_a_turn_that_came_too_late_is_let_go(tmp_path: Path, holder: subprocess.Popen[str]) -> None:
    queue = WriteLock(tmp_path / "queue", 0.2)
    with pytest.raises(StoreUnavailableError), queue.turn(Call("save")):
        raise AssertionError("the queue let two writers in")
    holder.kill()
    with (tmp_path / "queue").open("w") as file:
        waiting = threading.Thread(target=fcntl.flock, args=(file, fcntl.LOCK_EX))
        waiting.start()
        waiting.join(20)
        assert not waiting.is_alive()
    with queue.turn(Call("save")):
        pass


WORKER = """
    import sys
    from tests.integration.stores.conftest import creation, ending, following
    from airflow_coordination.stores import open_store
    store = open_store(sys.argv[1])
    number = 0
    while True:
        store.create(creation([f"{sys.argv[2]}-{number}"]))
        print("created", f"{sys.argv[2]}-{number}", flush=True)
        held = store.acquire_next(following())
        print("acquired", held.key, held.token, held.nonce, flush=True)
        if number % 2:
            assert store.write(ending(held)).applied
            print("completed", held.key, flush=True)
        number += 1
"""


def acknowledged(url: str, kill: object, lines: int = 60) -> list[list[str]]:
    """Run a worker until it has reported ``lines`` writes, kill it or its store, and return what it reported."""
    command = [sys.executable, "-c", textwrap.dedent(WORKER), url, f"w{time.monotonic_ns()}"]
    worker = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=Path.cwd())
    assert worker.stdout is not None
    seen = [worker.stdout.readline().split() for _ in range(lines)]
    kill(worker)  # type: ignore[operator]
    seen += [line.split() for line in worker.stdout.read().splitlines() if len(line.split()) > 1]
    worker.kill()
    worker.wait()
    return seen


def check_all_there(store: SqlStore, reported: list[list[str]]) -> None:
    found = {p.key: p for p in store.page(SOURCE, None, None, 10_000)}
    completed = {words[1] for words in reported if words[0] == "completed"}
    for event, key, *fence in reported:
        assert key in found
        if event == "acquired":
            assert (found[key].token, found[key].nonce) == (int(fence[0]), fence[1])
            wanted = (S.COMPLETED,) if key in completed else (S.ASSIGNED, S.COMPLETED)
            assert found[key].status in wanted


def test_s4_acknowledged_writes_survive_sigkill(store: SqlStore, request: pytest.FixtureRequest) -> None:
    reference = store.reference
    assert reference is not None
    reported = acknowledged(reference, lambda worker: worker.send_signal(signal.SIGKILL))
    check_all_there(store, reported)


@pytest.fixture
def server() -> Iterator[PrivateServer]:
    with private_server() as running:
        yield running


@pytest.mark.postgres
def test_s4_acknowledged_writes_survive_an_immediate_restart(server: PrivateServer) -> None:
    url = server.url
    store = open_store(url)
    assert isinstance(store, SqlStore)
    store.setup()
    reported = acknowledged(url, lambda worker: server.restart_after_crash())
    with pytest.raises(StoreUnavailableError):
        store.counts(SOURCE)  # the connection of before is found dead once
    check_all_there(store, reported)
    store.close()


@pytest.mark.postgres
def test_a_stopped_server_process_is_given_up_at_the_deadline(server: PrivateServer) -> None:
    with fresh_database(server.url) as url:
        store = open_store({"store": {"sql": {"url": url, "statement_timeout": 0.2}}})
        assert isinstance(store, SqlStore)
        store.setup()
        store.counts(SOURCE)
        backends = [pid for pid in server.pids[1:] if b"idle" in Path(f"/proc/{pid}/cmdline").read_bytes()]
        for pid in backends:
            os.kill(pid, signal.SIGSTOP)
        began = time.monotonic()
        try:
            with pytest.raises(StoreUnavailableError):
                store.counts(SOURCE)
        finally:
            for pid in backends:
                os.kill(pid, signal.SIGCONT)
        assert time.monotonic() - began < 20
        assert store.counts(SOURCE)[S.COMPLETED] == 0
        store.close()


def _drain(url: str, begin: object, results: object) -> None:
    store = open_store(url)
    assert store.store_id
    keys = []
    while (held := store.acquire_next(following())) is not None:
        if not keys:
            begin.wait()  # type: ignore[attr-defined]
        assert store.write(ending(held)).applied
        keys.append(held.key)
    results.put(keys)  # type: ignore[attr-defined]


def test_s5_processes_drain_a_store_each_partition_once_and_none_starves(store: SqlStore) -> None:
    """They begin together, each with a lease that it acquired beside the others."""
    store.create(creation([f"k{number}" for number in range(200)]))
    spawn = multiprocessing.get_context("spawn")
    begin, results = spawn.Barrier(4), spawn.Queue()
    processes = [spawn.Process(target=_drain, args=(store.reference, begin, results)) for _ in range(4)]
    for process in processes:
        process.start()
    drained: list[list[str]] = [results.get(timeout=90) for _ in processes]
    for process in processes:
        process.join(30)
    assert sorted(key for keys in drained for key in keys) == sorted(f"k{number}" for number in range(200))
    assert all(drained)
    assert store.counts(SOURCE)[S.COMPLETED] == 200
