"""Checks the histories of a run, however long: a part of the partitions at a time, so that memory stays small."""

from __future__ import annotations

import json
import pickle
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Final
from zlib import crc32

from airflow_coordination.testing.history import (
    Kind,
    Model,
    Operation,
    Told,
    Violation,
    fences_are_unique,
    metrics_are_exact,
    read_logs,
    the_global_state_grows,
)
from airflow_coordination.testing.history.check import (
    branches_show_whole,
    each_partition_is_linearizable,
    nothing_is_forgotten_early,
)
from airflow_coordination.testing.history.operations import GRANTS

SHARES: Final = 32
"""Into so many parts the partitions are divided."""


@dataclass
class Findings:
    """What the histories say.

    :param told: how often each kind of call was told what.
    :param lost_races: acquisitions of a partition by its key that came too late.
    :param tenures: how often a partition was given, and how often when it had been given before.
    """

    told: Counter[tuple[Kind, Told]] = field(default_factory=Counter)
    partitions: int = 0
    lost_races: int = 0
    tenures: int = 0
    later_tenures: int = 0
    violations: list[Violation] = field(default_factory=list)


class Examination:
    """One run's.

    :param model: the rules, with the settings that the source's coordinators had.
    :param listed: the keys that the supplier has listed.
    """

    def __init__(self, model: Model, listed: Sequence[str]) -> None:
        self._model = model
        self._grants: list[Operation] = []
        self._states: list[Operation] = []
        self._deleted: set[str] = set()
        self._absent: set[str] = set(listed)
        self.findings = Findings()

    def examine(self, histories: Iterable[Path], counts: Path) -> Findings:
        """Check all histories, one file per process.

        :param counts: the directory where processes that were not killed have left their metrics.
        """
        with tempfile.TemporaryDirectory() as scratch, ExitStack() as stack:
            paths = [Path(scratch, str(number)) for number in range(SHARES)]
            shares = [stack.enter_context(path.open("wb")) for path in paths]
            for history in histories:
                self._divide(history, counts / f"{history.stem}.json", shares)
            for share in shares:
                share.flush()
            for path in paths:
                self._check(path)
        self.findings.violations += self._across()
        return self.findings

    def _divide(self, history: Path, counts: Path, shares: Sequence[IO[bytes]]) -> None:
        """Note what concerns all partitions, and put each call to those on its partition."""
        operations = read_logs([history])
        divided: dict[int, list[Operation]] = {}
        for made in operations:
            self._note(made)
            if made.key:
                divided.setdefault(crc32(made.key.encode()) % SHARES, []).append(made)
        for share, part in divided.items():
            pickle.dump(part, shares[share])
        if counts.exists():
            known = json.loads(counts.read_text())
            self.findings.violations += metrics_are_exact(operations, history.stem, known)

    def _note(self, made: Operation) -> None:
        found = self.findings
        found.told[made.kind, made.told] += 1
        if made.kind is Kind.STATE:
            self._states.append(made)
        elif made.kind is Kind.DELETE:
            self._deleted.add(made.key)
        elif made.kind is Kind.READ and made.told is Told.OK and made.result["status"] is not None:
            self._absent.discard(made.key)
        elif made.kind in GRANTS:
            self._note_grant(made)

    def _note_grant(self, made: Operation) -> None:
        if made.told is Told.OK:
            self._grants.append(replace(made, result={"nonce": made.result["nonce"]}))
            self.findings.tenures += 1
            self.findings.later_tenures += made.result["token"] > 1
        elif made.told is Told.NOTHING and made.key:
            self.findings.lost_races += 1

    def _check(self, share: Path) -> None:
        operations = sorted(_load(share), key=lambda made: made.invoked)
        for number, made in enumerate(operations):
            made.number = number
        self.findings.partitions += len({made.key for made in operations})
        self.findings.violations += nothing_is_forgotten_early(operations)
        self.findings.violations += branches_show_whole(operations, self._model.views)
        self.findings.violations += each_partition_is_linearizable(operations, self._model)

    def _across(self) -> Iterator[Violation]:
        yield from fences_are_unique(self._grants)
        yield from the_global_state_grows(self._states, lambda state: float(state["cursor"]))
        for key in sorted(self._absent - self._deleted):
            yield Violation("S11", f"partition {key!r} was listed and does not exist")


def _load(share: Path) -> Iterator[Operation]:
    with share.open("rb") as file:
        while file.peek(1):
            yield from pickle.load(file)
