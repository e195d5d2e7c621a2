"""The dynamic configuration of the duties, by Druid's keys; each run reads it anew.

Source: Druid's coordinator dynamic configuration. A key of Druid's that means nothing here is refused with the reason:
a setting that is taken and does nothing would be believed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from datetime import timedelta
from types import MappingProxyType
from typing import Any, Final

from airflow_coordination.planning.periods import parse_duration, written
from airflow_coordination.values.input_errors import SettingsError
from airflow_coordination.values.names import storable
from airflow_coordination.values.settings import check_known

NO_LIMIT: Final = 2_147_483_647
"""As Druid writes it: the largest whole number of Java."""
_LONGEST: Final = timedelta(days=366)
_MILLISECOND: Final = timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True)
class DynamicConfig:
    """What people may change while duties run; in force from the next run of each group.

    :param millis_to_wait_before_deleting: milliseconds; for so long after a scheduler has come to lead a group, its
        duties that delete do nothing.
    :param max_segments_to_move: the most copies that one run moves between two locations.
    :param balance_threshold: percent of the higher utilisation; locations that differ by no more are alike.
    :param replication_throttle_limit: so many copies beside the first ones are begun in one run.
    :param decommissioning_nodes: locations that get nothing more, and whose copies go elsewhere first.
    :param kill_data_source_whitelist: the datasets of which anything may be deleted, as ``dataset`` or
        ``source/dataset``; empty for all.
    :param pause_coordination: whether no duty does anything.
    :param location_grace: so long what a location holds that cannot be read counts as there.
    :param mass_loss_percent: a source is held back when more of its leases than this are late or expired.
    :param mass_loss_hold: for so long.
    :param compaction_task_slot_ratio: the part of the workers' places that compaction takes, from 0 to 1.
    :param max_compaction_task_slots: and at most so many.
    :raises SettingsError: for a value of another type, or out of its range.
    """

    millis_to_wait_before_deleting: int = 900_000
    max_segments_to_move: int = 5
    balance_threshold: float = 3
    replication_throttle_limit: int = 500
    decommissioning_nodes: tuple[str, ...] = ()
    kill_data_source_whitelist: tuple[str, ...] = ()
    pause_coordination: bool = False
    location_grace: timedelta = timedelta(minutes=15)
    mass_loss_percent: float = 50
    mass_loss_hold: timedelta = timedelta(minutes=2)
    compaction_task_slot_ratio: float = 0.1
    max_compaction_task_slots: int = NO_LIMIT

    def __post_init__(self) -> None:
        for key in KEYS.values():
            object.__setattr__(self, key.field, key.read(f"config.{key.name}", getattr(self, key.field)))

    @classmethod
    def from_json(cls, said: object) -> DynamicConfig:
        """Return the configuration that some keys say; all others have their defaults, and so has what is null.

        :raises SettingsError: for a key that is unknown or means nothing here, or a value that cannot be.
        """
        given: dict[str, Any] = {KEYS[key].field: value for key, value in checked(said).items() if value is not None}
        return cls(**given)

    def to_json(self) -> dict[str, Any]:
        """Return the value of every key, as JSON has it; :meth:`from_json` reads it."""
        return {key.name: key.write(getattr(self, key.field)) for key in KEYS.values()}

    def updated(self, changes: Mapping[str, object]) -> DynamicConfig:
        """Return it with some keys changed; null is the default again.

        :raises SettingsError: as :meth:`from_json`.
        """
        return DynamicConfig.from_json({**self.to_json(), **checked(changes)})

    @property
    def wait_before_deleting(self) -> timedelta:
        """See ``millis_to_wait_before_deleting``."""
        return self.millis_to_wait_before_deleting * _MILLISECOND

    def may_delete_of(self, source: str, dataset: str) -> bool:
        """Tell whether anything of a dataset may be deleted (Druid: an empty list allows all)."""
        allowed = self.kill_data_source_whitelist
        return not allowed or dataset in allowed or f"{source}/{dataset}" in allowed

    @property
    def notes(self) -> tuple[str, ...]:
        """What may surprise whoever has set it so."""
        said = []
        if self.pause_coordination:
            said.append("pauseCoordination is true: no duty does anything until it is false")
        if not self.max_compaction_task_slots or not self.compaction_task_slot_ratio:
            name = "compactionTaskSlotRatio" if self.max_compaction_task_slots else "maxCompactionTaskSlots"
            remedy = 'set "enabled": false in the compaction configuration of a dataset to switch it off'
            said.append(f"{name} is 0: one group is still merged at a time, as in Druid; {remedy}")
        if self.mass_loss_percent == 100:
            said.append("massLossPercent is 100: no loss of workers ever holds a source back")
        return tuple(said)


@dataclass(frozen=True, slots=True)
class Key:
    """A key of the configuration.

    :param name: as people write it.
    :param field: of :class:`DynamicConfig`.
    :param read: makes the value of what was given, or refuses it.
    :param means: one sentence for the page of the keys.
    :param ours: whether Druid does not have it there.
    :param write: makes JSON of the value.
    """

    name: str
    field: str
    read: Callable[[str, object], Any]
    means: str
    ours: bool = False
    write: Callable[[Any], Any] = lambda value: value

    @property
    def default(self) -> Any:
        """What it is where nobody has said anything, as JSON has it."""
        return self.write(next(each.default for each in fields(DynamicConfig) if each.name == self.field))


def checked(said: object) -> Mapping[str, object]:
    """Return what somebody says of some keys, if there are such keys; their values are not looked at.

    :raises SettingsError: for what is no object, and a key that is unknown or means nothing here.
    """
    if not isinstance(said, Mapping):
        raise SettingsError("config", said, "is no object", 'Write such as {"maxSegmentsToMove": 10}')
    strange = [key for key in said if key not in KEYS]
    for key in strange:
        if key in MEANINGLESS:
            others = [each for each in strange if each != key and each in MEANINGLESS]
            remedy = f"Leave it out{', and so ' + ', '.join(others) if others else ''}"
            raise SettingsError(f"config.{key}", said[key], f"means nothing here: {MEANINGLESS[key]}", remedy)
        if key in _BY_FIELD:
            problem = "is the name in Python, not the one of the key"
            raise SettingsError(f"config.{key}", said[key], problem, f"Write {_BY_FIELD[key]}")
        check_known([key], KEYS, "config")
    return said


@dataclass(frozen=True, slots=True)
class Difference:
    """A key of which two configurations say different things.

    :param key: its name.
    :param old: its value in the first one, as JSON has it.
    :param new: its value in the second one.
    """

    key: str
    old: Any
    new: Any

    def __str__(self) -> str:
        return f"{self.key} from {json.dumps(self.old)} to {json.dumps(self.new)}"


def differences(one: DynamicConfig, other: DynamicConfig) -> list[Difference]:
    """Return what two configurations say differently, in the order of the keys."""
    before, after = one.to_json(), other.to_json()
    return [Difference(key, before[key], after[key]) for key in KEYS if before[key] != after[key]]


def _whole(least: int, most: int) -> Callable[[str, object], int]:
    def read(name: str, value: object) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            problem = f"is no whole number from {least} to {most}"
            raise SettingsError(name, value, problem, "Give one, without quotes")
        return value

    return read


def _number(least: int, most: int) -> Callable[[str, object], float]:
    def read(name: str, value: object) -> float:
        if not isinstance(value, int | float) or isinstance(value, bool) or not least <= value <= most:  # NaN is not
            raise SettingsError(name, value, f"is no number from {least} to {most}", "Give one, without quotes")
        return value

    return read


def _flag(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise SettingsError(name, value, "is neither true nor false", "Write true or false, without quotes")
    return value


def _names(name: str, value: object) -> tuple[str, ...]:
    """Return names from a list, or from a text with commas between them, as Druid takes it."""
    given = [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value
    if not isinstance(given, list | tuple) or not all(isinstance(each, str) and each.strip() for each in given):
        raise SettingsError(name, value, "is no list of names", 'Write such as ["one", "two"], or [] for none')
    if any(each != storable(each) for each in given):
        problem = "holds NUL or a lone surrogate, which no store can hold"
        raise SettingsError(name, value, problem, "Copy the names anew")
    return tuple(dict.fromkeys(each.strip() for each in given))


def _duration(*, zero: bool) -> Callable[[str, object], timedelta]:
    def read(name: str, value: object) -> timedelta:
        if isinstance(value, timedelta):
            value = written(value)
        return parse_duration(name, value, zero=zero)

    return read


_ALL: Final = (
    Key(
        "millisToWaitBeforeDeleting",
        "millis_to_wait_before_deleting",
        _whole(0, _LONGEST // _MILLISECOND),
        "Milliseconds. For so long after a scheduler has come to lead a group, its duties that delete do nothing.",
    ),
    Key(
        "maxSegmentsToMove",
        "max_segments_to_move",
        _whole(0, NO_LIMIT),
        "The most copies that one run moves between two locations of a tier; 0 for none (Druid: 100).",
    ),
    Key(
        "balanceThreshold",
        "balance_threshold",
        _number(0, 100),
        "Percent of the higher utilisation. Locations that differ by no more are alike, and nothing is moved.",
        ours=True,
    ),
    Key(
        "replicationThrottleLimit",
        "replication_throttle_limit",
        _whole(0, NO_LIMIT),
        "So many copies beside the first one of each chunk are begun in one run.",
    ),
    Key(
        "decommissioningNodes",
        "decommissioning_nodes",
        _names,
        "Names of locations that get nothing more; what they hold is copied elsewhere first.",
        write=list,
    ),
    Key(
        "killDataSourceWhitelist",
        "kill_data_source_whitelist",
        _names,
        "The datasets of which anything may be deleted, as `dataset` or `source/dataset`; empty for all.",
        write=list,
    ),
    Key("pauseCoordination", "pause_coordination", _flag, "While it is true, no duty does anything."),
    Key(
        "locationGrace",
        "location_grace",
        _duration(zero=True),
        "So long what a location holds that cannot be read counts as there, and nothing is copied for it.",
        ours=True,
        write=written,
    ),
    Key(
        "massLossPercent",
        "mass_loss_percent",
        _number(0, 100),
        "A source is held back when more of its leases than this are late or expired; 100 for never.",
        ours=True,
    ),
    Key(
        "massLossHold",
        "mass_loss_hold",
        _duration(zero=False),
        "For so long such a source is held back; owners that come back keep their leases.",
        ours=True,
        write=written,
    ),
    Key(
        "compactionTaskSlotRatio",
        "compaction_task_slot_ratio",
        _number(0, 1),
        "The part of the workers' places that compaction takes; at least one, also at 0.",
    ),
    Key(
        "maxCompactionTaskSlots",
        "max_compaction_task_slots",
        _whole(0, NO_LIMIT),
        "The most places that compaction takes; at least one, also at 0.",
    ),
)
KEYS: Final[Mapping[str, Key]] = MappingProxyType({key.name: key for key in _ALL})
"""All keys, by their names."""
_BY_FIELD: Final = {key.field: key.name for key in _ALL}

_LOADED_BY_WORKERS: Final = "copies are leases that workers take when they have room, so nothing waits at a location"
_DELETED_IN_THE_RUN: Final = "the duty killUnused deletes in its own run and takes no worker's place"
_LIMITED_AS_ALL: Final = "what leaves a location is copied elsewhere first, within replicationThrottleLimit"
MEANINGLESS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "maxSegmentsInNodeLoadingQueue": _LOADED_BY_WORKERS,
        "smartSegmentLoading": "every limit is what its key says, and none is replaced by a computed one",
        "useRoundRobinSegmentAssignment": "the least used location always gets the next copy",
        "balancerComputeThreads": "there is one balancer, and it needs no threads of its own",
        "replicantLifetime": "a copy that is being made has a lease, which ends when nobody renews it",
        "replicateAfterLoadTimeout": "a copy whose lease has ended is made by the next worker that asks",
        "maxNonPrimaryReplicantsToLoad": "replicationThrottleLimit already bounds all copies beside the first ones",
        "killTaskSlotRatio": _DELETED_IN_THE_RUN,
        "maxKillTaskSlots": _DELETED_IN_THE_RUN,
        "killPendingSegmentsSkipList": "there are no pending segments; what no reader can follow has its own margin",
        "killAllDataSources": "killDataSourceWhitelist says it by being empty",
        "decommissioningMaxPercentOfMaxSegmentsToMove": _LIMITED_AS_ALL,
        "decommissioningVelocity": _LIMITED_AS_ALL,
        "percentOfSegmentsToConsiderPerMove": "every copy of the most used location may be moved, by a seeded shuffle",
        "useBatchedSegmentSampler": "every copy of the most used location may be moved, by a seeded shuffle",
        "emitBalancingStats": "every run says what it moved and what it did not",
        "mergeBytesLimit": "small files are merged by compaction, whose configuration has inputSegmentSizeBytes",
        "mergeSegmentsLimit": "small files are merged by compaction, whose configuration has inputSegmentSizeBytes",
        "turboLoadingNodes": "how many copies are made at once is how many workers there are",
        "cloneServers": "a location has what the rules want there, and is never the clone of another",
        "debugDimensions": "status and metrics already name each duty, source and dataset",
    }
)
"""Keys of Druid's that have no meaning here, with the reason."""
