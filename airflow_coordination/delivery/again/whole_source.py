"""The balance of a whole source's dead letters, in portions: what was delivered again, and what of it is void."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from airflow_coordination.delivery.again.letters import AgainWork, Rounds, again_source
from airflow_coordination.monitoring.summaries import Line
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.values.accounting import Accounting
from airflow_coordination.values.input_errors import InvalidKeyError
from airflow_coordination.values.names import compose_source, split_source
from airflow_coordination.values.status import PartitionStatus

AT_ONCE: Final = 400
"""Partitions that are read at once."""
ROWS: Final = 1_500
"""Rows after which a portion ends: behind the partition whose head records have reached them, of each round one a
dataset, so that it stays below 2,000."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Again:
    """What became of dead letters that were delivered again, of some partitions of a source or of all.

    :param partitions: how many partitions deliver them, completed or not.
    :param delivered: records that have arrived.
    :param dropped: those that were dropped, by reason.
    :param unrouted: those that no sink wanted.
    :param done: all that are no dead letters any more.
    :param void: records that were delivered again before the original replaced what it had set aside.
    """

    partitions: int = 0
    delivered: int = 0
    dropped: Mapping[str, int] = field(default_factory=dict)
    unrouted: int = 0
    done: int = 0
    void: int = 0

    def __add__(self, other: Again) -> Again:
        """Return what became of both."""
        dropped = Counter(self.dropped)
        dropped.update(other.dropped)  # a sum of counters would forget the reasons that nothing was dropped for
        return Again(
            partitions=self.partitions + other.partitions,
            delivered=self.delivered + other.delivered,
            dropped=dropped,
            unrouted=self.unrouted + other.unrouted,
            done=self.done + other.done,
            void=self.void + other.void,
        )

    def lines(self) -> Iterator[Line]:
        """Yield it for people, but for how many are dead letters still."""
        yield Line("dead letters: delivered again", None, self.delivered)
        for reason, count in sorted(self.dropped.items()):
            yield Line(f"dead letters: dropped: {reason}", None, count)
        yield Line("dead letters: unrouted", None, self.unrouted)

    def balance(self, dead_lettered: int) -> Iterator[Line]:
        """Yield all of it, behind the counts of the source, whose dead letters these lines take apart.

        :param dead_lettered: how many the source has counted.
        """
        yield from self.lines()
        yield Line(STILL, None, dead_lettered - self.done)
        if self.void:
            yield Line(VOID, None, self.void)


STILL: Final = "dead letters: still set aside"
VOID: Final = "void: delivered again before the dead letters were replaced"
_NOTHING: Final = Again()


def again_portion(
    store: PartitionStore, source: str, after: str | None = None, rows: int = ROWS
) -> tuple[Again, str | None]:
    """Return what became of some of the dead letters of a source, and how to go on; ``None`` behind the last of them.

    :param source: the stored identifier of the source that has set them aside.
    :param after: as the portion before said.
    :param rows: so many are read, and what one partition more takes.
    :raises InvalidInputError: when the counts of a partition are corrupt.
    """
    prefix, name, _ = split_source(source)
    try:
        beside = compose_source(again_source(name), prefix, "PARTITION")
    except InvalidKeyError:  # no source can be named after it
        return _NOTHING, None
    page = store.page(beside, None, after, AT_ONCE)
    originals, found = _Originals(store, source), _NOTHING
    for one in page:
        found += _of(one, originals)
        if len(page) + originals.read >= rows:
            return found, one.key
    return found, page[-1].key if len(page) == AT_ONCE else None


def again_of(store: PartitionStore, source: str) -> Again:
    """Return what became of all dead letters of a source; raises as :func:`again_portion` does."""
    found, after = again_portion(store, source)
    while after is not None:
        more, after = again_portion(store, source, after)
        found += more
    return found


class _Originals:
    """The partitions that have set dead letters aside, and how many rows it took to look at them."""

    def __init__(self, store: PartitionStore, source: str) -> None:
        prefix, self.name, _ = split_source(source)
        self._store, self._source, self._prefix = store, source, prefix
        self._rounds: dict[str, Rounds] = {}
        self._counted: dict[str, bool] = {}

    @property
    def read(self) -> int:
        return len(self._counted) + sum(each.read for each in self._rounds.values())

    def has_counted(self, key: str) -> bool:
        """Return whether the counts of the source have those of this partition: not while it is done anew."""
        if key not in self._counted:
            found = self._store.get(self._source, key)
            self._counted[key] = found is not None and not found.deleted and found.accounting is not None
        return self._counted[key]

    def has_still(self, work: AgainWork) -> bool:
        """Return whether what a partition delivers is what is set aside there now."""
        if work.dataset not in self._rounds:
            self._rounds[work.dataset] = Rounds(self._store, self._prefix, self.name, work.dataset)
        return any(each.work == work for each in self._rounds[work.dataset].of(work.partition))


def _of(one: Partition, originals: _Originals) -> Again:
    """Return what one partition adds: a round counts when it has completed, and its letters still stand."""
    work = AgainWork.of_payload(one.payload)
    if work is None or work.source != originals.name:
        return _NOTHING
    counts = one.accounting if one.status is PartitionStatus.COMPLETED else None
    if counts is None or not originals.has_counted(work.partition):
        return Again(partitions=1)
    done = done_of(counts)
    if not originals.has_still(work):
        return Again(partitions=1, void=done)
    return Again(
        partitions=1,
        delivered=counts.delivered_everywhere,
        dropped=counts.dropped,
        unrouted=counts.unrouted,
        done=done,
    )


def done_of(counts: Accounting) -> int:
    """Return how many of the records that a round has read are no dead letters any more."""
    return counts.read - counts.dead_lettered
