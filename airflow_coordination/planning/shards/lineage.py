"""The lineage of shards in one listing. Pure, and without recursion: it may be thousands of reshards deep."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

from airflow_coordination.planning.shards.shard import Shard, by_id
from airflow_coordination.values.input_errors import CoordinationError, InvalidInputError


class InconsistentListingError(CoordinationError):
    """A listing has open shards whose parent is open, too: it was taken while the stream was being resharded.

    Source: KCL, ``HierarchicalShardSyncer``, which raises as well; list again a little later.

    :param shards: their ids.
    """

    def __init__(self, shards: tuple[str, ...]) -> None:
        super().__init__(shards)
        self.shards = shards

    def __str__(self) -> str:
        return (
            f"The listing has open shards with an open parent: {', '.join(self.shards[:10])}"
            f"{' …' if len(self.shards) > 10 else ''}. The stream is being resharded: list it again a little later, "
            "or leave these shards out with ignore_unexpected_child_shards=True."
        )


@dataclass(frozen=True, slots=True)
class Lineage:
    """A listing as a graph. Make it with :meth:`of`.

    :param shards: every shard by id, parents before children.
    :param parents: of each shard those that are listed; the others are trimmed.
    """

    shards: Mapping[str, Shard]
    parents: Mapping[str, tuple[str, ...]]

    @classmethod
    def of(cls, listing: Iterable[Shard]) -> Lineage:
        """Return the lineage of a listing.

        :raises InvalidInputError: when it has an id twice, or a shard descends from itself.
        """
        shards = by_id(listing)
        parents = {one.id: tuple(parent for parent in one.parents if parent in shards) for one in shards.values()}
        try:
            order = tuple(TopologicalSorter(parents).static_order())
        except CycleError as error:
            raise InvalidInputError(
                "parents",
                " < ".join(error.args[1]),
                "is a circle: a shard cannot descend from itself",
                "Look at the listing: each shard names only shards that were there before it.",
            ) from None
        return cls({name: shards[name] for name in order}, parents)

    @property
    def inconsistent(self) -> tuple[str, ...]:
        """The open shards with an open parent, by id."""
        return tuple(sorted(name for name, one in self.shards.items() if one.is_open and self._has_open_parent(name)))

    def _has_open_parent(self, name: str) -> bool:
        return any(self.shards[parent].is_open for parent in self.parents[name])

    def ancestors(self, names: Iterable[str]) -> set[str]:
        """Return the proper ancestors of these shards; those that are not listed have none."""
        found = set[str]()
        todo = [parent for name in names for parent in self.parents.get(name, ())]
        while todo:
            if (name := todo.pop()) not in found:
                found.add(name)
                todo += self.parents[name]
        return found

    def in_order(self, names: Collection[str] | None = None) -> Iterator[Shard]:
        """Yield these shards, or all, by :attr:`~airflow_coordination.planning.shards.shard.Shard.place`."""
        wanted = self.shards.keys() if names is None else names
        yield from sorted((self.shards[name] for name in wanted), key=lambda one: one.place)
