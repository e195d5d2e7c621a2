"""The stored fields of a partition and of a head record: each once, with its kind and the name it is stored under.

The stores derive from here which columns or attributes there are, in which order a row has them, and how their values
get there and back. The names are Data Prepper's where it has one (``closedCount``); SQL writes them in snake case.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Final

_HUMPS: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")


class Kind(Enum):
    """The type of a field's value."""

    TEXT = auto()
    NUMBER = auto()
    FLAG = auto()
    TIME = auto()
    STATUS = auto()
    RANK = auto()
    BLOCKS = auto()
    KEYS = auto()
    """A list of partition keys; an empty one is stored as nothing."""
    OUTCOME = auto()


@dataclass(frozen=True, slots=True)
class Field:
    """One field.

    :param name: the attribute of :class:`~airflow_coordination.protocol.partition.Partition` or
        :class:`~airflow_coordination.protocol.results.HeadRecord`.
    :param kind: what its value is.
    :param stored: what it is called in a store, in Data Prepper's way of writing.
    :param optional: whether there may be no value.
    :param column: the name in snake case.
    """

    name: str
    kind: Kind
    stored: str
    optional: bool = False
    column: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "column", _HUMPS.sub("_", self.stored).lower())


PARTITION_FIELDS: Final = (
    Field("source", Kind.TEXT, "sourceIdentifier"),
    Field("key", Kind.TEXT, "sourcePartitionKey"),
    Field("status", Kind.STATUS, "sourcePartitionStatus"),
    Field("payload_text", Kind.TEXT, "payload", optional=True),
    Field("priority", Kind.NUMBER, "priority"),
    Field("ordinal", Kind.NUMBER, "ordinal"),
    Field("rank", Kind.RANK, "rank"),
    Field("progress_text", Kind.TEXT, "partitionProgressState", optional=True),
    Field("closed_count", Kind.NUMBER, "closedCount"),
    Field("failures", Kind.NUMBER, "failures"),
    Field("lost_leases", Kind.NUMBER, "lostLeases"),
    Field("last_error", Kind.TEXT, "lastError", optional=True),
    Field("reopen_at", Kind.TIME, "reopenAt", optional=True),
    Field("available_at", Kind.TIME, "availableAt", optional=True),
    Field("owner", Kind.TEXT, "partitionOwner", optional=True),
    Field("ownership_timeout", Kind.TIME, "partitionOwnershipTimeout", optional=True),
    Field("created_at", Kind.TIME, "createdAt", optional=True),
    Field("updated_at", Kind.TIME, "updatedAt", optional=True),
    Field("token", Kind.NUMBER, "token"),
    Field("nonce", Kind.TEXT, "nonce"),
    Field("last_op", Kind.TEXT, "lastOp"),
    Field("create_op", Kind.TEXT, "createOp"),
    Field("generation", Kind.TEXT, "generation"),
    Field("confirmed", Kind.FLAG, "confirmed"),
    Field("deleted", Kind.FLAG, "deleted"),
    Field("staged", Kind.BLOCKS, "staged", optional=True),
    Field("max_lost_leases", Kind.NUMBER, "maxLostLeases", optional=True),
    Field("max_failures", Kind.NUMBER, "maxFailures", optional=True),
    Field("acquired_at", Kind.TIME, "acquiredAt", optional=True),
    Field("owner_details", Kind.TEXT, "ownerDetails", optional=True),
    Field("accounting_text", Kind.TEXT, "accounting", optional=True),
    Field("parents", Kind.KEYS, "parents", optional=True),
    Field("waits_for", Kind.KEYS, "waitsFor", optional=True),
    Field("awaited_op", Kind.TEXT, "awaitedOp", optional=True),
    Field("wanted_by", Kind.TEXT, "wantedBy", optional=True),
    Field("wanted_token", Kind.NUMBER, "wantedToken", optional=True),
    Field("wanted_until", Kind.TIME, "wantedUntil", optional=True),
    Field("on_parked_text", Kind.TEXT, "onParked", optional=True),
    Field("branch", Kind.NUMBER, "branch", optional=True),
)
"""Of a partition, without the ring of its endings, which each store spreads over eight fields."""

MOVED: Final = (
    "status",
    "rank",
    "progress_text",
    "staged",
    "closed_count",
    "failures",
    "lost_leases",
    "last_error",
    "reopen_at",
    "available_at",
    "created_at",
    "token",
    "nonce",
    "last_op",
    "generation",
    "max_lost_leases",
    "max_failures",
    "accounting_text",
    "on_parked_text",
    "branch",
)
"""What of a partition goes with it to another store. The ring stays: of those tenures only the first store can tell."""

HEAD_FIELDS: Final = (
    Field("source", Kind.TEXT, "sourceIdentifier"),
    Field("dataset", Kind.TEXT, "dataset"),
    Field("key", Kind.TEXT, "sourcePartitionKey"),
    Field("blocks", Kind.BLOCKS, "blocks"),
    Field("rows", Kind.NUMBER, "rowCount"),
    Field("bytes", Kind.NUMBER, "byteCount"),
    Field("generation", Kind.TEXT, "generation"),
    Field("op", Kind.TEXT, "op"),
    Field("token", Kind.NUMBER, "token"),
    Field("kind", Kind.TEXT, "kind"),
    Field("state", Kind.TEXT, "state"),
    Field("accounting_text", Kind.TEXT, "accounting", optional=True),
    Field("interval_start", Kind.TIME, "intervalStart", optional=True),
    Field("interval_end", Kind.TIME, "intervalEnd", optional=True),
    Field("published_at", Kind.TIME, "publishedAt", optional=True),
)
"""Of a head record. The last one is the store's to say, all others are given."""
HEAD_KEY: Final = ("source", "dataset", "key")
"""What there is one head record of."""

CHUNK_FIELDS: Final = (
    Field("dataset", Kind.TEXT, "dataset"),
    Field("chunk_start", Kind.TIME, "chunkStart", optional=True),
    Field("chunk_end", Kind.TIME, "chunkEnd", optional=True),
    Field("state", Kind.TEXT, "state"),
    Field("heads", Kind.NUMBER, "headCount", optional=True),
    Field("uncovered_heads", Kind.NUMBER, "uncoveredHeads", optional=True),
    Field("rows", Kind.NUMBER, "rowCount", optional=True),
    Field("dead_rows", Kind.NUMBER, "deadRows", optional=True),
    Field("files_before", Kind.NUMBER, "filesBefore", optional=True),
    Field("bytes_before", Kind.NUMBER, "bytesBefore", optional=True),
    Field("uncovered_bytes", Kind.NUMBER, "uncoveredBytes", optional=True),
    Field("files_now", Kind.NUMBER, "filesNow", optional=True),
    Field("bytes_now", Kind.NUMBER, "bytesNow", optional=True),
    Field("merged_at", Kind.TIME, "mergedAt", optional=True),
    Field("reason", Kind.TEXT, "reason", optional=True),
    Field("epoch", Kind.NUMBER, "epoch", optional=True),
    Field("group_key", Kind.TEXT, "groupKey", optional=True),
    Field("updated_at", Kind.TIME, "updatedAt", optional=True),
)
"""Of the sums of a chunk, beside the source. The last one is the store's to say."""

ENDED_FIELDS: Final = (
    Field("start", Kind.TIME, "slotStart"),
    Field("counted_to", Kind.TIME, "countedTo"),
    Field("completed", Kind.NUMBER, "completed"),
    Field("failed", Kind.NUMBER, "failed"),
    Field("lost", Kind.NUMBER, "lost"),
    Field("rows", Kind.NUMBER, "rowCount"),
    Field("bytes", Kind.NUMBER, "byteCount"),
)
"""Of the sums of what ended in five minutes, beside the source."""

DOCUMENT_FIELDS: Final = (
    Field("source", Kind.TEXT, "sourceIdentifier"),
    Field("name", Kind.TEXT, "name"),
    Field("version", Kind.NUMBER, "version"),
    Field("content", Kind.TEXT, "content"),
    Field("author", Kind.TEXT, "author"),
    Field("comment", Kind.TEXT, "comment"),
    Field("op", Kind.TEXT, "op"),
    Field("at", Kind.TIME, "at"),
)
"""Of a version of a document. The last one is the store's to say."""

FOLLOW_UP_FIELDS: Final = (
    Field("source", Kind.TEXT, "sourceIdentifier"),
    Field("key", Kind.TEXT, "sourcePartitionKey"),
    Field("token", Kind.NUMBER, "token"),
    Field("op", Kind.TEXT, "op"),
    Field("text", Kind.TEXT, "followUp"),
    Field("noted_at", Kind.TIME, "notedAt", optional=True),
)
"""Of a note of what follows an ending."""

TENURE_FIELDS: Final = (
    Field("source", Kind.TEXT, "sourceIdentifier"),
    Field("key", Kind.TEXT, "sourcePartitionKey"),
    Field("token", Kind.NUMBER, "token"),
    Field("nonce", Kind.TEXT, "nonce"),
    Field("owner", Kind.TEXT, "partitionOwner", optional=True),
    Field("owner_details", Kind.TEXT, "ownerDetails", optional=True),
    Field("acquired_at", Kind.TIME, "acquiredAt", optional=True),
    Field("ended_at", Kind.TIME, "endedAt"),
    Field("outcome", Kind.OUTCOME, "outcome"),
    Field("op", Kind.TEXT, "op"),
    Field("status_after", Kind.STATUS, "statusAfter"),
    Field("closed_count", Kind.NUMBER, "closedCount"),
    Field("error", Kind.TEXT, "error", optional=True),
    Field("rows", Kind.NUMBER, "rowCount"),
    Field("bytes", Kind.NUMBER, "byteCount"),
    Field("accounting_text", Kind.TEXT, "accounting", optional=True),
)
"""Of a tenure that has ended."""
TENURE_KEY: Final = ("source", "key", "token", "nonce")
"""What there is one ended tenure of: with the nonce, so that nothing a restored copy brings can refuse an ending."""
