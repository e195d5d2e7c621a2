"""The supplier of dead letters: a partition for each set of them that stands."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from airflow_coordination.delivery.again.letters import MOST_ROUNDS, Letters, Rounds, again_source
from airflow_coordination.leases.supply import SourceView, Supplied
from airflow_coordination.outputs.heads.showing import shown_pages, steadily
from airflow_coordination.planning.view.showing import interval_of_head
from airflow_coordination.planning.view.view import View
from airflow_coordination.protocol.partition import Checkpoint, PartitionIdentifier
from airflow_coordination.protocol.results import HeadRecord
from airflow_coordination.systems.left_out import LeftOut
from airflow_coordination.values.blocks import MAX_DATASET_BYTES
from airflow_coordination.values.input_errors import InvalidInputError
from airflow_coordination.values.names import MAX_SOURCE_BYTES, check_users_name, compose_source, split_source

log = logging.getLogger(__name__)
_REMEDY = "Deliver those that are named by hand, or give their partitions shorter keys"


@dataclass(frozen=True, slots=True)
class DeadLettersAgain:
    """See :func:`dead_letters_again`."""

    source: str
    dataset: str
    rounds: int = 1

    def supply(self, state: Mapping[str, Any], view: SourceView) -> Iterator[Supplied]:
        """Yield a partition for each set of dead letters that stands; those that exist are skipped.

        :raises InvalidInputError: when it supplies another source than the one that is named after the original.
        """
        prefix, name, _ = split_source(view.identifier)
        if name != again_source(self.source):
            problem = f"is not where the dead letters of source {self.source!a} are delivered again"
            raise InvalidInputError("source", name, problem, f"Name it {again_source(self.source)!a}")
        rounds = Rounds(view.store, prefix, self.source, self.dataset)
        left = LeftOut(f"dataset {self.dataset!a} of source {self.source!a}", "sets of dead letters")
        for head in self._heads(view, compose_source(self.source, prefix, "PARTITION")):
            for letters in islice(rounds.of(head.key, head), self.rounds):
                new: PartitionIdentifier | None = None
                with left.item(letters.work.key):
                    new = _partition(letters)
                if new is not None:
                    yield new
        if left.work:
            yield Checkpoint(state)  # so that those before are created
        left.finish(_REMEDY)

    def _heads(self, view: SourceView, original: str) -> list[HeadRecord]:
        """Return the head records of the originals that have dead letters, as readers see them."""

        def read(shown: View) -> list[HeadRecord]:
            pages = shown_pages(view.store, original, self.dataset, shown)
            return [head for page in pages for head in page if head.blocks and head.rows]

        return steadily(view.store, original, read)


def _partition(letters: Letters) -> PartitionIdentifier:
    """Return the partition that delivers a set again; what it publishes is of the time that the original's is."""
    interval = interval_of_head(letters.head)
    said = {} if interval is None else {"interval": str(interval)}
    return PartitionIdentifier(letters.work.key, payload={**letters.work.payload(), **said})


def dead_letters_again(source: str, dataset: str = "dead_letters", *, rounds: int = 1) -> DeadLettersAgain:
    """Return a supplier of the dead letters of a source, for the source that is named after it: ``flights-again``.

    Each partition that has published dead letters gets one there that delivers them again, with
    :func:`~airflow_coordination.spark.deliver_again`. When the original is done anew and publishes other dead letters,
    there is a new one, and the old one is void. The supplier may run as often as one likes: a set of dead letters is a
    partition once.

    :param source: the name of the source whose partitions have set records aside.
    :param dataset: of ``DeadLetters(…)`` there, and of that in the job that delivers again.
    :param rounds: how often the same record is tried: what the first round sets aside once more is only delivered
        again with 2. Raise it when that is mended which has refused them.
    :raises InvalidInputError: for no name, or no number of rounds.
    """
    check_users_name(source, "source", MAX_SOURCE_BYTES)
    check_users_name(dataset, "dataset", MAX_DATASET_BYTES)
    given: object = rounds
    if isinstance(given, bool) or not isinstance(given, int) or not 1 <= given <= MOST_ROUNDS:
        raise InvalidInputError("rounds", given, f"is no whole number from 1 to {MOST_ROUNDS}", "Give 1, or more")
    return DeadLettersAgain(source, dataset, rounds)
