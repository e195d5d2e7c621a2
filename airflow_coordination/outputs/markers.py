"""The marker of an attempt directory: whose it is, and which store can tell whether its tenure is over.

Two stores may share an output root, a source and its keys (staging and production). Each gives its own fences, so one
knows nothing about the tenures of the other, and must not judge them.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from enum import Enum

from airflow_coordination.protocol.partition import Partition
from airflow_coordination.values.documents import parse
from airflow_coordination.values.fence import Fence
from airflow_coordination.values.names import was_copied

MAX_MARKER_BYTES = 64 * 1024


class Standing(Enum):
    """A store's judgement on the tenure that a marker names."""

    OWN = "its own"
    FOREIGN = "another store's"
    NOBODYS = "written by the version before, and nobody can tell any more by whom"


@dataclass(frozen=True, slots=True, kw_only=True)
class Marker:
    """The first file in an attempt directory.

    :param source: the stored source identifier.
    :param key: the partition key.
    :param fence: the tenure.
    :param store_id: the store that gave the fence; ``None`` in markers of the version before.
    """

    source: str
    key: str
    fence: Fence
    store_id: str | None

    def to_bytes(self) -> bytes:
        """Return the marker as it is stored."""
        facts = asdict(self) | {"fence": str(self.fence)}
        facts["store"] = facts.pop("store_id")
        return json.dumps(facts).encode()

    @classmethod
    def from_bytes(cls, content: bytes) -> Marker:
        """Return a stored marker.

        :raises ValueError: when it is none (:class:`KeyError` and :class:`TypeError`, too).
        """
        facts = parse(content, max_bytes=MAX_MARKER_BYTES, max_depth=1)
        store_id = facts.get("store")
        if not isinstance(store_id, str | None):
            raise TypeError("the store's id is no text")
        return cls(source=facts["source"], key=facts["key"], fence=Fence.parse(facts["fence"]), store_id=store_id)

    def of(self, store_id: str) -> Marker:
        """Return the same marker with a store's id."""
        return replace(self, store_id=store_id)

    def standing(self, store_id: str, partition: Partition | None, *, unmarked_are_own: bool = False) -> Standing:
        """Return whose tenure it is, as the store ``store_id`` sees it.

        The nonce of a fence is given once in the world. So the store that holds exactly this fence, as the one of
        now or in the ring of endings, gave it; and one that holds another nonce for this token did not, whatever
        the marker says: one of the two stores is a copy of the other. A copy that was given an id of its own holds
        fences of its original, too. So to it a fence says nothing, the id in a marker everything.

        :param partition: the partition as that store has it.
        :param unmarked_are_own: a person says that no other store wrote here before markers named their store.
        """
        remembered = _remembered(partition, self.fence.token)
        if remembered not in (None, self.fence.nonce) or self.store_id not in (None, store_id):
            return Standing.FOREIGN
        known = self.store_id is not None or (remembered is not None and not was_copied(store_id))
        return Standing.OWN if known or unmarked_are_own else Standing.NOBODYS


def _remembered(partition: Partition | None, token: int) -> str | None:
    """Return the nonce that a partition's store gave with ``token``, ``None`` if it has forgotten."""
    if partition is None:
        return None
    if token == partition.token and partition.held_under(Fence(token, partition.nonce)):
        return partition.nonce
    ending = partition.ending_at(token)
    return ending.fence.nonce if ending else None
