"""What ended in each five minutes of a source: kept as sums, counted from the history, for charts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from airflow_coordination.protocol.beside.ended_sums import (
    KEPT,
    LATE,
    PORTION,
    EndedSums,
    EndedTenure,
    beginning,
    next_portion,
)
from airflow_coordination.protocol.beside.parts import Ended
from airflow_coordination.values.names import check_limit

if TYPE_CHECKING:
    from airflow_coordination.leases.participant import Participant


@dataclass(frozen=True, slots=True)
class Counted:
    """What became of one portion.

    :param counted_to: up to when the history is counted now, itself excluded.
    :param rows: how many rows of sums were written, also where nothing ended: they say up to when is counted.
    :param endings: how many endings were counted.
    :param goes_on: whether there was more to count than one portion.
    """

    counted_to: datetime
    rows: int
    endings: int
    goes_on: bool


@dataclass(eq=False, repr=False)
class EndedBook:
    """Sums of what ended: :class:`SourceCoordinator` ``.looking.ended``.

    :param core: whose source.
    :param kept: where they are, ``None`` where the store keeps none, because it keeps no history.
    """

    _core: Participant
    _kept: Ended | None

    @property
    def are_kept(self) -> bool:
        """Whether the store keeps them at all."""
        return self._kept is not None

    def newest(self, limit: int) -> Sequence[EndedSums]:
        """Return the newest rows, the newest first.

        :param limit: so many of them.
        """
        check_limit(limit)
        if self._kept is None:
            return ()
        return self._core.settler.repeat(
            "read sums of what ended", partial(self._kept.ended_sums, self._core.source_id, limit)
        )

    def between(self, since: datetime, until: datetime, limit: int) -> Sequence[EndedTenure]:
        """Return the first endings from a time up to another one, the oldest first.

        :param since: itself included, with a time zone.
        :param until: itself excluded, with a time zone.
        :param limit: so many of them.
        """
        if self._kept is None or until <= since:
            return ()
        read = partial(self._kept.ended_between, self._core.source_id, since, until, check_limit(limit))
        return self._core.settler.repeat("read what ended", read)

    def count_on(self, begin: datetime, limit: int = PORTION, now: datetime | None = None) -> Counted | None:
        """Count one portion of the history more, whoever has counted what is counted; any number may do so at once.

        What ended within the last minute is left to the next time, because its rows may not all be there.

        :param begin: where to begin where nobody has counted yet; at most a day ago.
        :param limit: how many rows of the history are read.
        :param now: by the store's clock, a moment ago; it is asked for if left out.
        :return: ``None`` where the store keeps no sums, or where somebody else counts at this moment.
        :raises OutcomeUnknownError: when the store stopped answering: what is counted then is counted, and no twice.
        """
        if self._kept is None:
            return None
        now = now or self._core.store.now()
        newest = next(iter(self.newest(1)), None)
        last = beginning(newest, begin, now)
        seen = last.counted_to if last is newest else None
        rows = next_portion(last, self.between, now - LATE, limit)
        for row in rows:
            if not self._put(row, seen if row.start == last.start else None):
                return None
        counted_to = rows[-1].counted_to if rows else last.counted_to
        before = last.endings if rows and rows[0].start == last.start else 0  # the oldest of them may go on
        endings = sum(row.endings for row in rows) - before
        return Counted(counted_to, len(rows), endings, counted_to < now - LATE)

    def forget_old(self, now: datetime) -> None:
        """Remove the rows of more than two days ago.

        :param now: by the store's clock.
        """
        if self._kept is not None:
            forget = partial(self._kept.forget_ended_sums, self._core.source_id, now - KEPT)
            self._core.settler.repeat("forget sums of what ended", forget)

    def _put(self, row: EndedSums, seen: datetime | None) -> bool:
        """Write a row; one that was written by a try whose answer was lost counts as somebody else's."""
        assert self._kept is not None, "asked before"
        write = partial(self._kept.put_ended_sums, self._core.source_id, row, seen)
        return self._core.settler.repeat("write sums of what ended", write)
