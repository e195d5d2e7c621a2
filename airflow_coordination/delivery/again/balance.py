"""The balance of a partition's dead letters: what it has set aside is delivered again, or it is set aside still."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from airflow_coordination.delivery.again.letters import AgainWork, Letters, Rounds, again_source, prefix_of
from airflow_coordination.delivery.again.whole_source import STILL, VOID, done_of
from airflow_coordination.monitoring.summaries import Line
from airflow_coordination.planning.view.showing import dataset_of
from airflow_coordination.protocol.pages import Keys, page_of
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.values.accounting import Accounting, AddedUp, together
from airflow_coordination.values.input_errors import InvalidKeyError
from airflow_coordination.values.names import compose_source, split_source
from airflow_coordination.values.status import PartitionStatus

MOST: Final = 100
"""So many partitions are read at a time of those whose keys begin as an original's do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Balance:
    """What became of the dead letters of one partition.

    :param again: what the rounds that count have counted, together; of it ``read`` counts a record once for each round.
    :param rounds: how many of them have counted.
    :param counted: how many records the original has counted as dead letters.
    :param read: how many of them the first round has read, of all its datasets.
    :param set_aside: how many are dead letters still.
    :param void: how many records were delivered again before the original replaced what it had set aside.
    """

    again: AddedUp
    rounds: int
    counted: int
    read: int
    set_aside: int
    void: int

    @property
    def holds(self) -> bool:
        """Whether the first round has read as many records as the original has counted."""
        return not self.rounds or self.read == self.counted

    def lines(self) -> Iterator[Line]:
        """Yield it for people: behind the counts of the original, whose dead letters these lines take apart."""
        if self.rounds:
            yield Line("dead letters: delivered again", None, self.again.delivered_everywhere)
            for reason, count in sorted(self.again.dropped.items()):
                yield Line(f"dead letters: dropped: {reason}", None, count)
            yield Line("dead letters: unrouted", None, self.again.unrouted)
        yield Line(STILL, None, self.set_aside)
        if not self.holds:
            yield Line("dead letters: read again, which is not as many as were counted", None, self.read)
        if self.void:
            yield Line(VOID, None, self.void)


def lines_beside(store: PartitionStore, partition: Partition) -> list[Line]:
    """Return what belongs behind the counts of a partition: the balance of its dead letters, or that its work is void.

    :raises InvalidInputError: when the counts of a partition are corrupt.
    """
    work = AgainWork.of_payload(partition.payload)
    if work is None:
        balance = balance_of(store, partition)
        return [] if balance is None else list(balance.lines())
    rounds = Rounds(store, split_source(partition.source)[0], work.source, work.dataset)
    if rounds.identifier != partition.source or any(each.work == work for each in rounds.of(work.partition)):
        return []
    counts = partition.accounting
    return [Line("void: the dead letters were replaced", None, 0 if counts is None else counts.read)]


def balance_of(store: PartitionStore, partition: Partition) -> Balance | None:
    """Return the balance of a partition's dead letters, ``None`` where none of them are anybody's work.

    Two reads for each round there is, and one of the partitions that have delivered any, for each hundred of them.

    :raises InvalidInputError: when the counts of one of these partitions are corrupt.
    """
    if partition.accounting is None:
        return None
    prefix, source, _ = split_source(partition.source)
    try:
        beside = compose_source(again_source(source), prefix, "PARTITION")
    except InvalidKeyError:  # no source can be named after it
        return None
    there = _there(store, beside, partition.key)
    if not there:
        return None
    heads = store.heads(partition.source, key=partition.key)
    chains = [
        _chain(Rounds(store, prefix, source, dataset), partition.key, there) for dataset in {*map(dataset_of, heads)}
    ]
    return _balanced(partition, [chain for chain in chains if chain], there)


def _there(store: PartitionStore, identifier: str, key: str) -> dict[str, Partition]:
    """Return the partitions that deliver, or have delivered, what one partition has set aside."""
    found: dict[str, Partition] = {}
    after: str | None = None
    while True:  # others' keys may begin so, too
        page = page_of(store, identifier, None, after, MOST, keys=Keys(prefix_of(key)))
        works = ((each, AgainWork.of_payload(each.payload)) for each in page)
        found |= {each.key: each for each, work in works if work is not None and work.partition == key}
        if len(page) < MOST:
            return found
        after = page[-1].key


def _chain(rounds: Rounds, key: str, there: dict[str, Partition]) -> list[Partition]:
    """Return the partitions that count, of one dataset: the first round, the second, and so on."""
    found = []
    for letters in rounds.of(key):
        one = there.get(letters.work.key)
        if one is None or not _is_of(one, letters):
            break
        found.append(one)
    return found


def _is_of(one: Partition, letters: Letters) -> bool:
    return AgainWork.of_payload(one.payload) == letters.work


def _balanced(partition: Partition, chains: Sequence[Sequence[Partition]], there: dict[str, Partition]) -> Balance:
    counted = [[counts for one in chain if (counts := _ended(one)) is not None] for chain in chains]
    again = together(counts for chain in counted for counts in chain)
    own = 0 if partition.accounting is None else partition.accounting.dead_lettered
    standing = {one.key for chain in chains for one in chain}
    void = [counts for key, one in there.items() if key not in standing and (counts := _ended(one)) is not None]
    return Balance(
        again=again,
        rounds=again.partitions,
        counted=own,
        read=sum(chain[0].read for chain in counted if chain),
        set_aside=own - sum(map(done_of, (counts for chain in counted for counts in chain))),
        void=sum(map(done_of, void)),
    )


def _ended(one: Partition) -> Accounting | None:
    """Return what a round has counted, ``None`` as long as it has not completed."""
    return one.accounting if one.status is PartitionStatus.COMPLETED else None
