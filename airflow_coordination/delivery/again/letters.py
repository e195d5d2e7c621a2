"""Which dead letters a partition has set aside, round by round, and which partition delivers each of these sets again.

The partition that delivers a set is named by the original's key and by the digest of what it delivers. So whoever looks
finds from the original's head record to the first round, from that one's head record to the second, and so on; and what
the original has replaced leads nowhere: its rounds are void.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Final

from airflow_coordination.outputs.heads.showing import read_view
from airflow_coordination.planning.view.showing import of_dataset, seen
from airflow_coordination.planning.view.view import View
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.protocol.results import HeadRecord
from airflow_coordination.values.input_errors import InvalidInputError
from airflow_coordination.values.names import compose_source

AGAIN: Final = "-again"
"""How the name of the source ends whose partitions deliver again what those of another one have set aside."""
PAYLOAD: Final = "again"
"""The name in a payload under which such work is described."""
MOST_ROUNDS: Final = 20
"""The most rounds that are followed."""
_MARK: Final = "@"
_DIGITS: Final = 12
"""So much of the digest of a set is in the key of its partition."""


def again_source(source: str) -> str:
    """Return the name of the source whose partitions deliver again what those of ``source`` have set aside."""
    return f"{source}{AGAIN}"


def prefix_of(key: str) -> str:
    """Return how the keys begin of all partitions that deliver again what one partition has set aside."""
    return f"{key}{_MARK}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgainWork:
    """The work of one partition: a set of dead letters.

    :param source: the name of the source of the original.
    :param partition: the original's key: whose records they were.
    :param dataset: that holds them.
    :param letters: the digest of the set.
    :param round: 1 for what the original has set aside, 2 for what the first round has, and so on.
    """

    source: str
    partition: str
    dataset: str
    letters: str
    round: int

    @property
    def key(self) -> str:
        """The key of the partition that does it."""
        return f"{prefix_of(self.partition)}{self.letters[:_DIGITS]}"

    def payload(self) -> dict[str, Any]:
        """Return it as a partition carries it."""
        return {PAYLOAD: asdict(self)}

    @classmethod
    def of_payload(cls, payload: Mapping[str, Any]) -> AgainWork | None:
        """Return what a partition's payload describes, ``None`` where that is other work."""
        found = payload.get(PAYLOAD)
        kinds = {field.name: int if field.name == "round" else str for field in fields(cls)}
        if not isinstance(found, Mapping) or found.keys() != kinds.keys():
            return None
        if not all(isinstance(found[name], kind) for name, kind in kinds.items()):
            return None
        return cls(**found)

    @classmethod
    def needed(cls, payload: Mapping[str, Any]) -> AgainWork:
        """Return what a partition's payload describes.

        :raises InvalidInputError: where that is other work.
        """
        found = cls.of_payload(payload)
        if found is None:
            problem = "does not say which dead letters are to be delivered again"
            remedy = "Let dead_letters_again(…) supply the partitions of this source"
            raise InvalidInputError("payload", dict(payload), problem, remedy)
        return found


@dataclass(frozen=True, slots=True)
class Letters:
    """A set of dead letters that stands: who looks now finds it.

    :param work: of the partition that delivers it again, whether there is one yet or not.
    :param head: the head record that leads to it.
    """

    work: AgainWork
    head: HeadRecord


def digest_of(head: HeadRecord) -> str:
    """Return the digest of what a head record leads to: that of its block; of several the digest of theirs."""
    digests = sorted(block.digest for block in head.blocks)
    return digests[0] if len(digests) == 1 else hashlib.sha256("\n".join(digests).encode()).hexdigest()


class Rounds:
    """The sets of dead letters of one source's partitions, in one dataset.

    :param store: of the source.
    :param prefix: the source's partition prefix.
    :param source: the source's name.
    :param dataset: that holds them.
    :raises InvalidKeyError: when the source's name is none, or so long that no source can be named after it.
    """

    def __init__(self, store: PartitionStore, prefix: str | None, source: str, dataset: str) -> None:
        self._store, self._source, self._dataset = store, source, dataset
        self._first = compose_source(source, prefix, "PARTITION")
        self.identifier = compose_source(again_source(source), prefix, "PARTITION")
        """The stored identifier of the source whose partitions deliver them again."""
        self._views: dict[str, View] = {}
        self.read = 0
        """How many head records were read."""

    def of(self, key: str, head: HeadRecord | None = None) -> Iterator[Letters]:
        """Yield the sets that stand of one partition: its own, then what each round has set aside again.

        :param head: the head record that readers see of the partition, if it was read already.
        """
        head = head or self._head(self._first, key)
        for number in range(1, MOST_ROUNDS + 1):
            if head is None or not head.blocks or not head.rows:
                return
            letters = digest_of(head)
            work = AgainWork(source=self._source, partition=key, dataset=self._dataset, letters=letters, round=number)
            yield Letters(work, head)
            head = self._head(self.identifier, work.key)

    def _head(self, identifier: str, key: str) -> HeadRecord | None:
        """Return the head record that readers see of a partition."""
        heads = self._store.heads(identifier, key=key)
        self.read += len(heads)
        if identifier not in self._views and heads:
            self._views[identifier] = read_view(self._store, identifier)
        return seen(self._views[identifier], of_dataset(heads, self._dataset)) if heads else None
