"""A group of compaction as a partition: what its payload says, and its place in the order of work.

The planner writes payloads, the worker reads them. Which blocks are merged they do not say: the worker decides that
under its lease.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from airflow_coordination.planning.compaction.configuration import CompactionConfig
from airflow_coordination.planning.intervals import Interval, parse_interval
from airflow_coordination.values.documents import MAX_PAYLOAD_BYTES, encode_payload
from airflow_coordination.values.input_errors import InvalidInputError, PayloadError

_LOWEST: Final = -(2**31) + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupWork:
    """What the worker of a group needs to know.

    :param config: how its dataset is compacted.
    :param chunk: the interval of its chunk.
    :param part: which part of the chunk, from 0 on.
    :param keys: the first and the last of the partitions' keys that this part takes in now, beside what it has merged;
        ``None`` for all of the chunk. Where a chunk has parts, it is the plan that divides it: workers that begin at
        different times would divide it in different ways.
    :param epoch: the epoch of the group, from 1 on.
    :param current_epoch: the epoch of the plan; a group of an earlier one is to be given up.
    :param wanted: a digest of what the plan wants merged, by which the next plan knows what this one has asked for.
    :raises InvalidInputError: when a number is out of its range.
    """

    config: CompactionConfig
    chunk: Interval
    part: int = 0
    keys: tuple[str, str] | None = None
    epoch: int = 1
    current_epoch: int = 1
    wanted: str = ""

    def __post_init__(self) -> None:
        for name, least in (("part", 0), ("epoch", 1), ("current_epoch", self.epoch)):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                raise InvalidInputError(f"group.{name}", value, f"is no whole number from {least} on", "Plan again")

    @property
    def dataset(self) -> str:
        """The dataset that is compacted."""
        return self.config.dataset

    def takes(self, key: str) -> bool:
        """Return whether a partition that no group has merged may belong to this part."""
        return self.keys is None or self.keys[0] <= key <= self.keys[1]

    @property
    def is_given_up(self) -> bool:
        """Whether later epochs take over what this group has."""
        return self.epoch < self.current_epoch

    @property
    def priority(self) -> int:
        """The group's place: minus the minutes of its chunk's end, so that the newest comes first."""
        return max(_LOWEST, -int(self.chunk.end.timestamp() // 60))

    def to_payload(self) -> dict[str, Any]:
        """Return the payload of the group's partition.

        :raises PayloadError: when it is too long for a store, naming what makes it so.
        """
        config = self.config.to_json()
        del config["dataset"]
        said = {
            "dataset": self.dataset,
            "chunk": str(self.chunk),
            "part": self.part,
            "epoch": self.epoch,
            "current_epoch": self.current_epoch,
            "config": config,
            **({"keys": list(self.keys)} if self.keys else {}),
            **({"wanted": self.wanted} if self.wanted else {}),
        }
        try:
            encode_payload(said)
        except PayloadError:
            longest = max(config, key=lambda name: len(str(config[name])), default="dataset")
            problem = f"makes the payload of a group longer than {MAX_PAYLOAD_BYTES} bytes"
            remedy = "Name fewer columns, or leave out what files need not have been merged with"
            raise PayloadError(f"compaction[{self.dataset}].{longest}", config.get(longest), problem, remedy) from None
        return said

    @classmethod
    def from_payload(cls, payload: Mapping[str, Any] | None) -> GroupWork:
        """Return what a group's payload says.

        :raises InvalidInputError: when it is no payload of a group, or has what this code does not know.
        """
        try:
            said = dict(payload or {})
            config = CompactionConfig.from_json({"dataset": said["dataset"], **said["config"]}, "payload.config")
            chunk = parse_interval("payload.chunk", said["chunk"])
            numbers = {name: said[name] for name in ("part", "epoch", "current_epoch")}
            keys = _keys(said.get("keys"))
            return cls(config=config, chunk=chunk, keys=keys, wanted=str(said.get("wanted", "")), **numbers)
        except (KeyError, TypeError) as error:
            problem = f"is not that of a group of compaction ({error})"
            raise InvalidInputError("payload", payload, problem, "Let `compaction plan` make groups") from None


def _keys(said: object) -> tuple[str, str] | None:
    if said is None:
        return None
    if not isinstance(said, list) or len(said) != 2 or not all(isinstance(each, str) for each in said):
        raise TypeError("keys are not two texts")
    return said[0], said[1]
