"""Follow-ups of accepted endings and parkings at their source, and who does them (promise S27).

Data Prepper deletes an S3 object, or a message, in a callback of the process that has read it, and what that process
does not live to do is never done. Here the commit of the ending notes it. Whoever reads the note may do what it says,
and takes it away afterwards by the operation that wrote it: done at least once for an accepted ending, never without.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final

from airflow_coordination.leases.participant import Participant
from airflow_coordination.leases.people import MAX_WHY_CHARACTERS
from airflow_coordination.protocol.beside.parts import FollowUps as Notes
from airflow_coordination.protocol.follow_up import FollowUp, Forget, check_text
from airflow_coordination.protocol.metrics import Metric
from airflow_coordination.values.input_errors import SettingsError
from airflow_coordination.values.names import check_key, check_said, storable

_PAGE: Final = 100


@dataclass(eq=False, repr=False)
class FollowUps:
    """What is still to be done after endings and parkings: :class:`SourceCoordinator` ``.follow_ups``.

    :param core: whose source.
    :param notes: where the store keeps them.
    """

    _core: Participant
    _notes: Notes | None

    def follow_ups(self, key: str | None = None) -> Iterator[FollowUp]:
        """Yield what is still to be done after endings and parkings, by key and then in the order of the tenures.

        :param key: of one partition only.
        """
        wanted, after = (None if key is None else check_key(key)), None
        if self._notes is None:
            return
        while True:
            read = partial(self._notes.follow_ups, self._core.source_id, wanted, after, _PAGE)
            page = self._core.settler.repeat("read the follow-ups", read)
            yield from page
            if len(page) < _PAGE:
                return
            after = page[-1]

    def clear_follow_up(self, done: FollowUp) -> None:
        """Take a note away, because all that it says is done. Repeated, it changes nothing.

        :param done: as it was read.
        """
        if self._notes is not None:
            self._core.settler.repeat("clear a follow-up", partial(self._notes.clear_follow_up, done))

    def forget_follow_up(self, note: FollowUp, by: str, why: str) -> None:
        """Take a note away although what it says is not done. Repeated, it changes nothing.

        :param note: as it was read.
        :param by: who asks for it, kept in the audit of the note's partition.
        :param why: the reason, kept in the audit.
        :raises InvalidInputError: when nobody, or no reason, is named.
        """
        check_said(by, why)
        write = Forget(note, storable(by)[:MAX_WHY_CHARACTERS], storable(why)[:MAX_WHY_CHARACTERS])
        if self._notes is not None:
            self._core.settler.repeat("forget a follow-up", partial(self._notes.forget_follow_up, write))

    def count_follow_up(self, *, done: bool) -> None:
        """Count that what a note says was done, or could not be."""
        self._core.count(Metric.FOLLOWED_UP if done else Metric.FOLLOW_UP_ERRORS)

    def noted(self, then: str) -> str | None:
        """Return the note of an ending.

        :raises SettingsError: naming the store, where it comes from elsewhere and would lose it.
        :raises InvalidInputError: when it is too long.
        """
        self._check("keeps no follow-ups", "then=")
        return check_text(then)

    def noted_parking(self, text: str | None) -> str | None:
        """Return the note of what follows a parking; ``None`` takes back what was said.

        :raises SettingsError: naming the store, where it comes from elsewhere and would lose it.
        :raises InvalidInputError: when it is too long.
        """
        self._check("keeps no note of what follows a parking", "on_parked()")
        return check_text(text, "on_parked")

    def _check(self, problem: str, asked: str) -> None:
        if self._notes is None:
            remedy = f"Leave {asked} out, or use another store"
            raise SettingsError("store", self._core.store.description, f"comes from elsewhere and {problem}", remedy)
