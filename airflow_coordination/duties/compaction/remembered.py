"""What the planner of a source remembers from one run to the next: its progress, kept under its lease."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import astuple, dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from airflow_coordination.planning.compaction.configuration import CompactionConfig
from airflow_coordination.planning.compaction.fingerprint import fingerprint
from airflow_coordination.planning.compaction.slots import CompactionSlots
from airflow_coordination.planning.compaction.tracker import RETRIES, Failures
from airflow_coordination.planning.intervals import written
from airflow_coordination.values.documents import MAX_PROGRESS_BYTES

_ONE: Final = CompactionSlots()
A_DAY: Final = timedelta(days=1)
"""So long after a full look there is another one, whatever the history says: a retract is in no history."""
MOST_PARKED: Final = 2_000
"""Of so many groups that have failed their rounds are remembered, the newest; the others begin to count anew."""
_PARKED_BYTES: Final = MAX_PROGRESS_BYTES // 2
"""What they may take of the progress at most, where names are long."""


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a dataset.

    :param epoch: counted up when other blocks are merged together than before.
    :param config: the configuration of the last look, as JSON values.
    :param chunking: what decides in it which blocks are merged together.
    :param seen: a digest of the newest tenures that the last look has seen.
    :param looked_at: when everything of it was looked at last, by the store's clock.
    :param waits: whether something was left then for a later run.
    """

    epoch: int
    config: Mapping[str, Any]
    chunking: str
    seen: str = ""
    looked_at: datetime | None = None
    waits: bool = False

    @property
    def settings(self) -> CompactionConfig:
        """The configuration of the last look.

        :raises InvalidInputError: when newer code has planned with what this code does not know.
        """
        return CompactionConfig.from_json(self.config, "planner.config")

    def is_news(self, seen: str | None, config: CompactionConfig, now: datetime) -> bool:
        """Return whether everything of the dataset has to be looked at, whatever waits; see :meth:`Remembered.news`."""
        if seen is None or seen != self.seen or self.looked_at is None:
            return True
        return fingerprint(self.config) != fingerprint(config.to_json()) or now - self.looked_at >= A_DAY

    def to_json(self) -> list[Any]:
        """Return it as it is stored."""
        at = self.looked_at.isoformat() if self.looked_at else None
        return [self.epoch, dict(self.config), self.chunking, self.seen, at, self.waits]

    @classmethod
    def from_json(cls, epoch: int, config: Mapping[str, Any], chunking: str, seen: str, at: str, waits: bool) -> Known:
        """Return what is stored."""
        return cls(epoch, config, chunking, seen, datetime.fromisoformat(at) if at else None, waits)


@dataclass(frozen=True, slots=True)
class Still:
    """What a plan has said of a dataset in which groups are under way or wait for a slot: the next one says the same.

    :param stands: as long as this is so: the digest of ``Stands``.
    :param under_way: groups that are claimable or held.
    :param waiting: groups that wait for a slot.
    :param percent: of what can be compacted is.
    :param awaiting_bytes: what is to be compacted.
    :param compacted_bytes: what is.
    :param skipped_bytes: what is left out.
    """

    stands: str
    under_way: int
    waiting: int
    percent: float
    awaiting_bytes: int
    compacted_bytes: int
    skipped_bytes: int


@dataclass(frozen=True, slots=True)
class News:
    """What a plan would find.

    :param is_new: whether everything has to be looked at.
    :param still: if not: what waits as it did, by dataset.
    """

    is_new: bool
    still: Mapping[str, Still] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Rounds:
    """How often a group was parked since its last success.

    :param number: how often it was let go on after it.
    :param failures: how often it has failed before.
    """

    number: int = 0
    failures: int = 0

    def at(self, parked: datetime, failed: int, why: str) -> tuple[Failures, int]:
        """Return what the tracker makes of it, and how often the group has failed in all.

        :param parked: when it was parked last.
        :param failed: how often it has failed in this round.
        """
        return Failures(RETRIES + 1 + self.number, parked, why), self.failures + failed


def newest(row: Mapping[str, tuple[datetime, Rounds]]) -> dict[str, Rounds]:
    """Return what is remembered of groups: of the newest 2,000, and of fewer where names are long.

    Progress has 256 KiB. A group that is forgotten waits one period after its next failure, not longer each time.

    :param row: by key, each with when something last became of it.
    """
    found: dict[str, Rounds] = {}
    used = 0
    for key in sorted(row, key=lambda key: row[key][0], reverse=True)[:MOST_PARKED]:
        rounds = row[key][1]
        used += len(json.dumps({key: [rounds.number, rounds.failures]}))
        if used > _PARKED_BYTES:
            break
        found[key] = rounds
    return found


def told(failures: Failures, number: int, period: timedelta) -> str:
    """Return how often a group has failed and when it is tried again, for people."""
    times = "once" if number == 1 else f"{number} times"
    why = f" with {failures.why.rstrip('.')}" if failures.why else ""
    return f"failed {times}{why}, next try at {written(failures.next_try(period))}"


@dataclass(frozen=True, slots=True)
class Remembered:
    """All of it.

    :param datasets: by their names. Each is looked at by itself: two DAGs may plan two datasets of one source.
    :param parked: the groups that have failed and were let go on, by key; see :func:`newest`.
    :param slots: those of the last run, for people who look.
    :param still: of datasets in which something waits for an ending or a place only. Beside ``datasets``, because
        earlier code reads those by place: it leaves this out when it has planned, after which everything is new.
    """

    datasets: Mapping[str, Known] = field(default_factory=dict)
    parked: Mapping[str, Rounds] = field(default_factory=dict)
    slots: CompactionSlots = _ONE
    still: Mapping[str, Still] = field(default_factory=dict)

    def news(
        self,
        seen: str | None,
        configs: Mapping[str, CompactionConfig],
        now: datetime,
        stands: Callable[[], str | None],
    ) -> News:
        """Return whether everything has to be looked at.

        :param seen: a digest of the newest tenures now; ``None`` where the store has no history.
        :param configs: the configurations of now, by dataset.
        :param stands: returns the digest of ``Stands`` now, ``None`` where the store has no history; it is called
            where something waits, and nothing else is new.
        """
        known = self.datasets
        if any(name not in known or known[name].is_news(seen, config, now) for name, config in configs.items()):
            return News(is_new=True)
        waiting = [name for name in configs if known[name].waits]
        still = {name: self.still[name] for name in waiting if name in self.still}
        if not waiting:
            return News(is_new=False)
        if len(still) < len(waiting) or {each.stands for each in still.values()} != {stands()}:
            return News(is_new=True)
        return News(is_new=False, still=still)

    def configs(self) -> list[CompactionConfig]:
        """Return the configurations of the last run."""
        return [known.settings for known in self.datasets.values()]

    def to_json(self) -> dict[str, Any]:
        """Return it as it is stored; a function that counts places is not."""
        capacity = self.slots.capacity
        return {
            "datasets": {name: known.to_json() for name, known in self.datasets.items()},
            "parked": {key: [rounds.number, rounds.failures] for key, rounds in self.parked.items()},
            "slots": [self.slots.ratio, self.slots.max_slots, None if callable(capacity) else capacity],
            **({"still": {name: list(astuple(each)) for name, each in self.still.items()}} if self.still else {}),
        }

    @classmethod
    def from_json(cls, said: Mapping[str, Any] | None) -> Remembered:
        """Return what is stored; nothing before the first run."""
        if not said:
            return cls()
        return cls(
            datasets={name: Known.from_json(*known) for name, known in said.get("datasets", {}).items()},
            parked={key: Rounds(*rounds) for key, rounds in said.get("parked", {}).items()},
            slots=CompactionSlots(*said.get("slots", ())),
            still={name: Still(*each) for name, each in said.get("still", {}).items()},
        )
