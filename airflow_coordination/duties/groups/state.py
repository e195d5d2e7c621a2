"""What a group remembers from one run to the next, and what people are told of it: the progress of its partition."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Final

from airflow_coordination.duties.groups.round import Ran
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.values.names import storable
from airflow_coordination.values.times import to_micros, told_moment

GROUP: Final = "group|"
"""How the keys of groups begin in the source ``~duties``."""
MOST_RUNS: Final = 24
"""So many runs are remembered, each by one letter."""
DONE, FAILED, PAUSED = "d", "f", "p"
MOST_SAID: Final = 500
"""Characters of what a duty says that are kept."""
MOST_WARNINGS: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What became of one duty, the last time it was run.

    :param said: what it did, for people.
    :param counts: by Druid's names of metrics.
    :param warnings: what somebody should look at.
    :param idle: whether there was nothing to do.
    :param took: how long it ran.
    :param error: why it failed; ``None`` when it did not.
    :param fails: how often it has failed in a row.
    :param left: what it wants to be told the next time.
    """

    said: str = ""
    counts: Mapping[str, int] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    idle: bool = False
    took: timedelta = timedelta(0)
    error: str | None = None
    fails: int = 0
    left: Any = None

    def after(self, ran: Ran, took: timedelta) -> Result:
        """Return what became of it when it has run once more."""
        error = storable("; ".join(ran.errors))[:MOST_SAID] or None
        return Result(
            error=error,
            fails=self.fails + 1 if error else 0,
            said=storable(ran.said)[:MOST_SAID],
            counts=ran.counts,
            warnings=tuple(storable(each)[:MOST_SAID] for each in ran.warnings[:MOST_WARNINGS]),
            idle=ran.idle,
            took=took,
            left=self.left if ran.left is None else ran.left,
        )

    def failed(self, error: Exception, took: timedelta) -> Result:
        """Return what became of it when it has failed once more; what it has left stays."""
        text = storable(f"{type(error).__name__}: {error}")[:MOST_SAID]
        return replace(self, said="", error=text, took=took, fails=self.fails + 1, idle=False, warnings=())

    def to_json(self) -> dict[str, Any]:
        """Return it as it is stored."""
        said: dict[str, Any] = {"said": self.said, "ms": self.took // timedelta(milliseconds=1)}
        optional = {"counts": dict(self.counts), "warnings": list(self.warnings), "idle": self.idle}
        optional |= {"error": self.error, "fails": self.fails, "left": self.left}
        return said | {name: value for name, value in optional.items() if value}

    @classmethod
    def from_json(cls, said: Any) -> Result:
        """Return what is stored."""
        found = said if isinstance(said, Mapping) else {}
        return cls(
            said=found.get("said", ""),
            counts=found.get("counts", {}),
            warnings=tuple(found.get("warnings", ())),
            idle=found.get("idle", False),
            took=timedelta(milliseconds=found.get("ms", 0)),
            error=found.get("error"),
            fails=found.get("fails", 0),
            left=found.get("left"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupState:
    """A group as its last run has left it.

    :param led_since: since when it is led without a longer break, by the store's clock; ``None`` before its first run.
    :param ran_at: when its last run began.
    :param took: how long that was.
    :param period: from one run to the next, as the last one was told.
    :param runs: how its last runs ended, the newest last: ``d`` done, ``f`` a duty failed, ``p`` paused.
    :param duties: the results by name, in the order in which they are run.
    """

    led_since: datetime | None = None
    ran_at: datetime | None = None
    took: timedelta = timedelta(0)
    period: timedelta = timedelta(0)
    runs: str = ""
    duties: Mapping[str, Result] = field(default_factory=dict)

    @property
    def next_at(self) -> datetime | None:
        """When its next run is due."""
        return None if self.ran_at is None else self.ran_at + self.period

    @property
    def failing(self) -> list[str]:
        """The duties that have failed in the last run."""
        return [name for name, result in self.duties.items() if result.error is not None]

    def of(self, name: str) -> Result:
        """Return the last result of a duty; an empty one before its first run."""
        return self.duties.get(name, Result())

    def led(self, now: datetime, period: timedelta) -> datetime:
        """Return since when the group is led, with a run that begins now.

        Nobody leads a group any more when its next run has not begun three periods after it was due: then whoever comes
        knows nothing of what has happened meanwhile.
        """
        lost = self.ran_at is None or now - self.ran_at > 4 * max(period, self.period)
        return now if self.led_since is None or lost else self.led_since

    def to_json(self) -> dict[str, Any]:
        """Return it as it is stored."""
        moments = {"led": self.led_since, "ran": self.ran_at}
        return {
            **{name: to_micros(at) for name, at in moments.items() if at is not None},
            "ms": self.took // timedelta(milliseconds=1),
            "period": self.period // timedelta(milliseconds=1),
            "runs": self.runs,
            "duties": {name: result.to_json() for name, result in self.duties.items()},
        }

    @classmethod
    def from_json(cls, said: Any) -> GroupState:
        """Return what is stored; an empty one before the first run."""
        found = said if isinstance(said, Mapping) else {}
        return cls(
            led_since=told_moment(found.get("led")),
            ran_at=told_moment(found.get("ran")),
            took=timedelta(milliseconds=found.get("ms", 0)),
            period=timedelta(milliseconds=found.get("period", 0)),
            runs=str(found.get("runs", "")),
            duties={name: Result.from_json(each) for name, each in found.get("duties", {}).items()},
        )

    @classmethod
    def of_partition(cls, partition: Partition | None) -> GroupState:
        """Return the state of a group whose partition was read."""
        return cls.from_json(partition.progress_state if partition is not None else None)
