"""What a partition function says is to follow at the source when its partition is parked."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.leases.lease import Lease
from airflow_coordination.systems.spark.error_text import error_text

if TYPE_CHECKING:
    from airflow_coordination.protocol.follow_up import SourceAction, Then

log = logging.getLogger(__name__)


class OnParked:
    """What was said last in one tenure: stored with the partition, so that whoever parks it need not be this driver.

    :param coordinator: the source's coordinator.
    :param lease: the tenure.
    """

    def __init__(self, coordinator: SourceCoordinator, lease: Lease) -> None:
        self._coordinator, self._lease = coordinator, lease
        self._text: str | None = None
        self._actions: tuple[SourceAction, ...] = ()

    def say(self, then: Then) -> None:
        """Store what is to follow; see :meth:`.lease.PartitionLease.on_parked`."""
        from airflow_coordination.duties.follow_ups import pinned, text_of  # it needs a storage, and most need none

        actions = pinned(then, self._lease.chain.partition, "on_parked")
        text = text_of(actions)
        self._coordinator.on_parked(self._lease, text)
        self._text, self._actions = text, actions

    def follow(self) -> None:
        """Do it if this driver's failure has parked the partition; what is not done now is done later.

        What is done is what this driver's function has said, not what the store says of it.
        """
        if self._text is None:
            return
        from airflow_coordination.duties.follow_ups import follow_up

        key, token = self._lease.key, self._lease.fence.token
        try:
            for note in self._coordinator.follow_ups.follow_ups(key):
                if (note.token, note.text) == (token, self._text):
                    follow_up(self._coordinator, note, self._actions)
        except Exception as error:
            log.warning("Partition %r is parked, and what follows is left for later: %s", key, error_text(error))
