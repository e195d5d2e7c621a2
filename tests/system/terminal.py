"""A command on a terminal, and what ``quickstart --run`` says there."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import time
from pathlib import Path

READY = re.compile(r"Airflow is ready: http://localhost:(\d+)  user admin  password (\S+)")
SHOWN = re.compile(r"After (\d+) s the page Partitions shows a completed partition:")


class Terminal:
    """A command on a terminal, as a person has it."""

    def __init__(self, command: list[str], folder: Path, environment: dict[str, str]) -> None:
        self._ours, theirs = pty.openpty()
        os.set_blocking(self._ours, False)
        self.process = subprocess.Popen(
            command, cwd=folder, env=environment, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
        )
        os.close(theirs)
        self.text = ""

    def reach(self, said: re.Pattern[str] | str, seconds: float) -> re.Match[str]:
        """Wait until it has said something."""
        deadline = time.monotonic() + seconds
        while (found := re.search(said, self.text)) is None:
            assert self.process.poll() is None, self.text
            assert time.monotonic() < deadline, self.text
            self._read()
            time.sleep(0.2)
        return found

    def interrupt(self) -> int:
        """Press Ctrl-C and return the exit code."""
        self.process.send_signal(signal.SIGINT)
        code = self.process.wait(120)
        self._read()
        return code

    def _read(self) -> None:
        try:
            self.text += os.read(self._ours, 1 << 16).decode(errors="replace").replace("\r\n", "\n")
        except OSError:  # nothing to read now, or nobody writes any more
            return
