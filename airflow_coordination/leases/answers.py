"""What a store says to the writes of the protocol."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from airflow_coordination.leases.partition import Partition
from airflow_coordination.leases.pause import Pause


@dataclass(frozen=True, slots=True)
class Answer:
    """What the store says to a write.

    :param applied: whether this very execution applied it.
    :param partition: after an acquisition, a begin or an action: the partition as it is now. After a
        refusal: as it is now, tombstones included, ``None`` when there is none. Otherwise ``None`` or as it is now.
    :param expires_at: after an applied renew, save or begin: until when the lease is held, by the store's clock.
    :param wanted_by: after an applied renew: who has asked for the lease; a store may say so after a save, too.
    :param released: after an applied ending that completes: how many waited for the partition; for the metrics only.
    """

    applied: bool
    partition: Partition | None = None
    expires_at: datetime | None = None
    wanted_by: str | None = None
    released: int = 0


@dataclass(frozen=True, slots=True)
class PauseAnswer:
    """What the store says to "pause" and "resume".

    :param applied: whether this very execution applied it.
    :param pause: the source's pause as it is now.
    """

    applied: bool
    pause: Pause


@dataclass(frozen=True, slots=True)
class FusedAnswer:
    """What the store says to "complete and acquire next".

    :param next: what was acquired, ``None`` when nothing was.
    :param missed: nothing was acquired, and not everything was looked at: as the request allowed, or because others
        waited for what was completed, so that it took a commit of its own.
    """

    ended: Answer
    next: Partition | None = None
    missed: bool = False
