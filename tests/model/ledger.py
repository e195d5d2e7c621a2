"""What must hold after every step of a trace, whatever the trace is about."""

from __future__ import annotations

from datetime import datetime

from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.writes import End, Save
from airflow_coordination.values.fence import Fence
from tests.model.messages import KEY, SOURCE
from tests.model.replay import Replay
from tests.model.traces import Step


class Ledger:
    """Keeps what was accepted, and compares the store with it: fences, closes, promised timeouts, a reader's rows."""

    def __init__(self, replay: Replay) -> None:
        self._replay = replay
        self._fences: list[Fence] = []
        self._accepted: set[str] = set()
        self._closes = 0
        self._promised: tuple[Fence, datetime] | None = None
        self._path: list[str] = []
        self._published: list[str] = []

    def observe(self, step: Step, became: str) -> None:
        """Take note of what ``step`` became, and check all of it."""
        if became in ("applied", "ok") and step.op not in self._accepted:
            self._accepted.add(step.op)
            self._accept(step)
        found = self._replay.now()
        if found is None or found.deleted or became == "deleted":
            self._path, self._closes, self._promised = [], 0, None
        if found is not None:
            self._check(found)
        self._check_reader()

    def _accept(self, step: Step) -> None:
        write = self._replay.writes.get(step.op)
        if isinstance(write, Save):
            self._path += [block.digest for block in write.staged if block.digest.endswith(step.op)]
        elif isinstance(write, End):
            blocks = [block.digest for head in write.heads for block in head.blocks]
            self._path += [digest for digest in blocks if digest.endswith(step.op)]
            self._published = list(self._path)
            self._closes += step.kind.startswith("close")
            self._path = [] if step.kind == "close(fresh)" else self._path
        elif step.kind == "renew":
            found = self._replay.seen()
            if found.fence and found.ownership_timeout:
                self._promised = found.fence, found.ownership_timeout
        elif step.kind == "reset":
            self._path, self._closes = [], 0

    def _check(self, found: Partition) -> None:
        fence = found.fence
        if found.status == "ASSIGNED" and fence is not None and fence != (self._fences or [None])[-1]:
            assert fence not in self._fences, f"fence {fence} was given twice"
            self._fences.append(fence)
        assert found.closed_count == self._closes
        if self._promised and found.status == "ASSIGNED" and fence == self._promised[0]:
            assert found.ownership_timeout is not None
            assert found.ownership_timeout >= self._promised[1], "the timeout went back behind an acknowledged renewal"

    def _check_reader(self) -> None:
        heads = self._replay.store.heads(SOURCE, key=KEY)
        read = [block.digest for head in heads for block in head.blocks]
        assert sorted(read) == sorted(self._published), "a reader sees the blocks of the accepted writes"
        rows = [digest.partition("-")[0] for digest in read]
        assert len(rows) == len(set(rows)), "a reader sees each row once"
