"""Workers of the real Kinesis Client Library, each in one Java process, and what they have read."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.engines.dynamodb_local import ENDS_WITH_ITS_PARENT, find_java

_WORKER: Final = Path(__file__).with_name("KclWorker.java")
_SMALL_AND_SOON: Final = ("-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
_QUIET: Final = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"
_SECONDS: Final = 240


@dataclass
class KclWorker:
    """A worker.

    :param process: its process.
    :param told: the file that it writes: two lines for each record.
    :param log: what it says else.
    """

    process: subprocess.Popen[bytes]
    told: Path
    log: Path

    @property
    def read(self) -> set[str]:
        """What it has read; of the last records nobody may know that it has."""
        return self._told("read")

    @property
    def done(self) -> set[str]:
        """What it has read, and the lease table knows it."""
        return self._told("done")

    def _told(self, word: str) -> set[str]:
        lines = self.told.read_text().splitlines() if self.told.exists() else []
        return {line.removeprefix(f"{word} ") for line in lines if line.startswith(f"{word} ")}

    def wait_for(self, done: Callable[[], bool]) -> None:
        """Wait for something while it works."""
        deadline = time.monotonic() + _SECONDS
        while not done():
            said = self.log.read_text(errors="replace")[-4000:]
            assert self.process.poll() is None, said
            assert time.monotonic() < deadline, said
            time.sleep(0.1)

    def stop(self) -> None:
        """Let it leave as it does in a deployment."""
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(_SECONDS)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


@contextmanager
def kcl_worker(
    jars: Path, home: Path, application: str, stream: str, name: str, kinesis: str, dynamodb: str, most: int = 50
) -> Iterator[KclWorker]:
    """Run a worker until the block ends.

    :param jars: the directory with the KCL's jars.
    :param home: where its files go.
    :param application: the name of its application, and of its lease table.
    :param most: how many records it asks for at a time.
    """
    told, log = home / f"{name}.txt", home / f"{name}.log"
    command = (
        *ENDS_WITH_ITS_PARENT, find_java(), *_SMALL_AND_SOON, _QUIET, "-cp", f"{jars}/*", str(_WORKER), application,
        stream, name, kinesis, dynamodb, str(told), str(most),
    )  # fmt: skip
    with log.open("wb") as said:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=said, stderr=said, start_new_session=True)
    try:
        yield KclWorker(process, told, log)
    finally:
        process.kill()
        process.wait()
