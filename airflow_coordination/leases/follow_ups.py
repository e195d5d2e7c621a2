"""What follows accepted endings and parkings at their source, and who does it (promise S27).

Data Prepper deletes an S3 object, or a message, in a callback of the process that has read it, and what that process
does not live to do is never done. Here the commit of the ending notes it. Whoever reads the note may do what it says,
and takes it away afterwards by the operation that wrote it: done at least once for an accepted ending, never without.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final

from airflow_coordination.leases.lease import Lease
from airflow_coordination.leases.participant import Participant
from airflow_coordination.leases.people import MAX_WHY_CHARACTERS, check_said
from airflow_coordination.protocol.follow_up import FollowUp, Forget, check_text
from airflow_coordination.protocol.metrics import Metric
from airflow_coordination.protocol.port import follow_ups_of, follows_parking
from airflow_coordination.values.input_errors import SettingsError
from airflow_coordination.values.names import check_key, storable

_PAGE: Final = 100


class FollowingUp(Participant):
    """The part of :class:`SourceCoordinator` that knows what is still to be done after endings."""

    def on_parked(self, lease: Lease, note: str | None) -> None:
        """Say what is to follow at the source when this partition is parked: failed for good, lost, or by a person.

        It is stored with the partition, in the place of what was said before, and holds until somebody has done it, or
        the partition begins afresh (a close without state, a reset). A parked partition is the note itself.

        :param note: JSON of at most 4 KiB; ``None`` takes back what was said.
        :raises InvalidInputError: when the note is longer.
        :raises SettingsError: when the store comes from elsewhere and would lose it.
        :raises PartitionNotOwnedError: when the lease was lost: stop.
        """
        if not follows_parking(self.store):
            problem = "comes from elsewhere and keeps no note of what follows a parking"
            raise SettingsError("store", self.store.description, problem, "Leave on_parked() out, or use another store")
        with self._watched(None):
            self._tenures.on_parked(lease, check_text(note, "on_parked"))

    def follow_ups(self, key: str | None = None) -> Iterator[FollowUp]:
        """Yield what is still to be done after endings and parkings, by key and then in the order of the tenures.

        :param key: of one partition only.
        """
        wanted, after = (None if key is None else check_key(key)), None
        while True:
            read = partial(follow_ups_of, self.store, self._source_id, wanted, _PAGE, after)
            page = self._settler.repeat("read the follow-ups", read)
            yield from page
            if len(page) < _PAGE:
                return
            after = page[-1]

    def clear_follow_up(self, done: FollowUp) -> None:
        """Take a note away, because all that it says is done. Repeated, it changes nothing.

        :param done: as it was read.
        """
        self._settler.repeat("clear a follow-up", lambda: self.store.clear_follow_up(done))

    def forget_follow_up(self, note: FollowUp, by: str, why: str) -> None:
        """Take a note away although what it says is not done. Repeated, it changes nothing.

        :param note: as it was read.
        :param by: who asks for it, kept in the audit of the note's partition.
        :param why: the reason, kept in the audit.
        :raises InvalidInputError: when nobody, or no reason, is named.
        """
        check_said(by, why)
        write = Forget(note, storable(by)[:MAX_WHY_CHARACTERS], storable(why)[:MAX_WHY_CHARACTERS])
        self._settler.repeat("forget a follow-up", lambda: self.store.forget_follow_up(write))

    def count_follow_up(self, *, done: bool) -> None:
        """Count that what a note says was done, or could not be."""
        self._count(Metric.FOLLOWED_UP if done else Metric.FOLLOW_UP_ERRORS)

    def check_follow_ups(self) -> None:
        """Refuse a note where the store comes from elsewhere and would lose it.

        :raises SettingsError: naming the store.
        """
        if not hasattr(self.store, "follow_ups"):
            problem = "comes from elsewhere and keeps no follow-ups"
            raise SettingsError("store", self.store.description, problem, "Leave then= out, or use another store")
