"""Noise between calls holds up what runs beside a thread, and nothing else."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest

from tests.noise import LONGEST, PAUSES, ROOT, Noise


@contextmanager
def a_thread_beside() -> Iterator[None]:
    over = threading.Event()
    thread = threading.Thread(target=over.wait)
    thread.start()
    yield
    over.set()
    thread.join()


def heard(seed: str, *, beside: bool) -> list[float]:
    """Return the pauses of ten thousand calls of one thread."""
    pauses: list[float] = []
    noise = Noise(seed, pauses.append)
    with a_thread_beside() if beside else nullcontext():
        for _ in range(10_000):
            noise(sys._getframe(), "call", None)
    return pauses


def test_who_runs_alone_is_never_held_up() -> None:
    assert heard("1", beside=False) == []


@pytest.mark.parametrize("seed", "123")
def test_beside_a_thread_there_are_pauses_by_the_seed_and_not_too_long(seed: str) -> None:
    pauses = heard(seed, beside=True)
    assert len(pauses) > 10
    assert set(pauses) == set(PAUSES)
    assert sum(pauses) <= LONGEST + max(PAUSES)
    assert heard(seed, beside=True) == pauses
    assert heard(f"{seed} again", beside=True) != pauses


def test_a_test_s_own_thread_hears_it_and_so_do_all_that_it_starts(tmp_path: Path) -> None:
    text = """
        import sys, threading

        def test_it():
            heard = [sys.getprofile()]
            thread = threading.Thread(target=lambda: heard.append(sys.getprofile()))
            thread.start()
            thread.join()
            assert [type(each).__name__ for each in heard] == ["Noise", "Noise"]
        """
    file = tmp_path / "test_heard.py"
    file.write_text(textwrap.dedent(text))
    command = [sys.executable, "-m", "pytest", "-q", "--rootdir", str(tmp_path), "-p", "no:cacheprovider", str(file)]
    said = subprocess.run([*command, "-p", "tests.noise"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stdout + said.stderr
