"""A shard as a listing has it, and its range of hash keys."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from airflow_coordination.values.input_errors import InvalidInputError

MAX_HASH_KEY: Final = 2**128 - 1
"""The largest hash key of a stream (Kinesis: MD5 of the partition key)."""


@dataclass(frozen=True, slots=True, order=True)
class HashRange:
    """The hash keys of a shard.

    :param first: its smallest key, from 0.
    :param last: its largest key, at most :data:`MAX_HASH_KEY`; it belongs to the range, as in Kinesis.
    :raises InvalidInputError: when the two are no such range.
    """

    first: int
    last: int

    def __post_init__(self) -> None:
        if not 0 <= self.first <= self.last <= MAX_HASH_KEY:
            raise InvalidInputError(
                "hashes",
                f"{self.first}…{self.last}",
                f"is no range inside of 0…{MAX_HASH_KEY}",
                "Give the smallest key first; both ends belong to the range.",
            )


@dataclass(frozen=True, slots=True)
class Shard:
    """One shard of a listing.

    :param id: unique in the listing.
    :param parents: the ids it was split or merged from, each once (Kinesis: one or two). Those that the listing does
        not have are trimmed: for the planner they do not exist.
    :param start: when it began, on the source's own scale (Kinesis: the first sequence number, as an integer).
    :param end: when it was closed, on the same scale; ``None`` while it is open.
    :param hashes: its range of hash keys, where the source has them.
    :raises InvalidInputError: when it is empty, its own parent, names a parent twice, or ends before it starts.
    """

    id: str
    parents: tuple[str, ...] = ()
    start: int = 0
    end: int | None = None
    hashes: HashRange | None = None

    def __post_init__(self) -> None:
        if not self.id:
            raise InvalidInputError("id", self.id, "is empty", "Give each shard the id its source lists it under.")
        if self.id in self.parents or len(set(self.parents)) < len(self.parents):
            raise InvalidInputError(
                "parents",
                list(self.parents),
                f"names shard {self.id} itself, or a shard twice",
                "Name each shard it was split or merged from once.",
            )
        if self.end is not None and self.end < self.start:
            raise InvalidInputError(
                "end", self.end, f"is before start={self.start} of shard {self.id}", "Leave it out while it is open."
            )

    @property
    def is_open(self) -> bool:
        """Whether records still come into it."""
        return self.end is None

    @property
    def place(self) -> tuple[int, str]:
        """Its place in every plan: by start, so that a crash half way is harmless, then by id as text (source: KCL)."""
        return self.start, self.id


def by_id(shards: Iterable[Shard]) -> dict[str, Shard]:
    """Return the shards under their ids.

    :raises InvalidInputError: when an id is there twice.
    """
    found: dict[str, Shard] = {}
    for shard in shards:
        if found.setdefault(shard.id, shard) is not shard:
            raise InvalidInputError(
                "id", shard.id, "is listed twice", "Join the pages of one listing; do not mix two listings."
            )
    return found
