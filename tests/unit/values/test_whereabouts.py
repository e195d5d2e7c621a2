"""Where a process is, and whether one of this machine is gone: asked of real processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from airflow_coordination.values import whereabouts as subject
from airflow_coordination.values.fence import Owner, Place
from airflow_coordination.values.whereabouts import is_gone, whereabouts

TOLD = "from airflow_coordination.values.whereabouts import whereabouts; print(whereabouts())"
LIVES = """
from airflow_coordination.values.fence import Owner
from airflow_coordination.values.whereabouts import whereabouts
print(Owner.of_process("me", whereabouts()).text, flush=True)
input()
"""


class Living:
    """A process that has said who it is, and waits."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", LIVES], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        self.owner = self.process.stdout.readline().strip()
        assert Owner(self.owner).place.boot

    def moved(self, **place: str | None) -> str:
        """Return its owner's text as of another place."""
        return Owner.of_process("me", replace(Owner(self.owner).place, **place)).text


@pytest.fixture
def live() -> Iterator[Callable[[], Living]]:
    started: list[Living] = []

    def live() -> Living:
        started.append(Living())
        return started[-1]

    yield live
    for each in started:
        each.process.send_signal(signal.SIGKILL)
        each.process.communicate()


def test_e6_processes_of_one_boot_are_told_apart() -> None:
    here = whereabouts("production")
    assert (here.airflow, (here.process or "").partition(".")[0]) == ("production", str(os.getpid()))
    assert whereabouts("production") == here
    told = subprocess.run([sys.executable, "-c", TOLD], capture_output=True, text=True, check=True).stdout
    assert f"boot='{here.boot}'" in told
    assert str(here.process) not in told


def test_e6_where_a_machine_does_not_say_it_the_process_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    mine = Owner.of_process("me", whereabouts()).text
    monkeypatch.setattr(subject, "_BOOT", Path("/no/such"))
    assert (whereabouts().boot, whereabouts().process) == (None, str(os.getpid()))
    assert not is_gone(mine)


def test_who_lives_or_is_only_stopped_is_not_gone(live: Callable[[], Living]) -> None:
    one = live()
    assert not is_gone(one.owner)
    one.process.send_signal(signal.SIGSTOP)
    assert not is_gone(one.owner)


def test_who_is_killed_is_gone_before_its_parent_knows(live: Callable[[], Living]) -> None:
    one = live()
    one.process.send_signal(signal.SIGKILL)
    os.waitid(os.P_PID, one.process.pid, os.WEXITED | os.WNOWAIT)  # it has ended, and nobody has taken its exit code
    assert is_gone(one.owner)
    one.process.wait()
    assert is_gone(one.owner)


def test_another_process_of_its_id_is_not_it(live: Callable[[], Living]) -> None:
    one = live()
    assert is_gone(one.moved(process=f"{one.process.pid}.1"))


@pytest.mark.parametrize(
    "place",
    [{"boot": "5f0c1d2e"}, {"boot": None}, {"process": None}, {"process": "17"}]
    + [{"process": f"{number}.5"} for number in ("0", "-1", "me", "", "\u0661", "9" * 40)],
)
def test_of_who_is_elsewhere_or_says_too_little_nothing_is_known(
    live: Callable[[], Living], place: dict[str, str | None]
) -> None:
    one = live()
    one.process.kill()
    one.process.wait()
    assert is_gone(one.owner)
    assert not is_gone(one.moved(**place))


def test_a_task_of_airflow_is_never_said_to_be_gone(live: Callable[[], Living]) -> None:
    one = live()
    one.process.kill()
    one.process.wait()
    assert not is_gone(Owner.of_task("host", "dag", "run", "task", 0, 1, Owner(one.owner).place).text)


@pytest.mark.parametrize("owner", [None, "", "me", "me;boot", ";process=1.1"])
def test_whoever_does_not_say_where_it_is_is_not_gone(owner: str | None) -> None:
    assert not is_gone(owner)


def test_a_process_that_proc_hides_is_not_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """It answers a signal, or refuses it, where ``hidepid`` keeps its file from other users."""
    mine = whereabouts()
    hidden = Owner.of_process("me", Place(None, mine.boot, "1.5")).text
    told = subject._told

    def hides(process: str) -> list[str]:
        if process == "self":
            return told(process)
        raise FileNotFoundError(process)

    monkeypatch.setattr(subject, "_told", hides)
    assert not is_gone(hidden)
