"""Noise between calls holds up what runs beside a thread, and nothing else."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from contextlib import contextmanager
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
    if not beside:
        calls(noise)
        return pauses
    with a_thread_beside():
        calls(noise)
    return pauses


def calls(noise: Noise) -> None:
    for _ in range(10_000):
        noise(sys._getframe(), "call", None)


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


def test_a_test_that_races_fails(tmp_path: Path) -> None:
    """Its thread takes two milliseconds, and what it looks for only holds while the calls before take less."""
    text = """
        import threading, time, pytest

        @pytest.mark.parametrize("number", range(20))
        def test_it(number):
            late = threading.Thread(target=time.sleep, args=(0.002,))
            late.start()
            for _ in range(20):
                threading.Event().is_set()
            assert late.is_alive()
            late.join()
        """
    file = tmp_path / "test_racing.py"
    file.write_text(textwrap.dedent(text))
    command = [sys.executable, "-m", "pytest", "-q", "--rootdir", str(tmp_path), "-p", "no:cacheprovider", str(file)]
    said = subprocess.run([*command, "-p", "tests.noise"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert said.returncode == 1, said.stdout + said.stderr
    assert "test_racing.py::test_it" in said.stdout
