"""Doing what notes say, and taking them away: by the driver right after its ending, later by whoever finds them."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import Final

from airflow_coordination.follow_ups.notes import actions_in, forget_file
from airflow_coordination.follow_ups.protocol import Carried
from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.leases.errors import CoordinationError, shown
from airflow_coordination.leases.follow_up import FollowUp

log = logging.getLogger(__name__)
_IN_A_ROW: Final = 10
"""So many failures in a row say that the source cannot be reached; the rest has to wait."""


@dataclass(slots=True)
class FollowedUp:
    """What came of the notes of a source.

    :param done: how many are done and gone.
    :param left_alone: what was left as it is because it is another thing now.
    :param failed: those that stay, with the reason.
    :param gave_up: whether too many failed in a row, so that not all were tried.
    """

    done: int = 0
    left_alone: list[str] = field(default_factory=list)
    failed: list[tuple[FollowUp, CoordinationError]] = field(default_factory=list)
    gave_up: bool = False


def follow_up(coordinator: SourceCoordinator, note: FollowUp) -> Carried:
    """Do what a note says, then take it away.

    :raises CoordinationError: when not all could be done; the note stays.
    """
    try:
        carried = sum((action.carry_out() for action in actions_in(note.text)), Carried())
    except CoordinationError:
        coordinator.count_follow_up(done=False)
        raise
    coordinator.clear_follow_up(note)
    coordinator.count_follow_up(done=True)
    forget_file(note.text)
    for what in carried.left_alone:
        log.warning("Partition %s has ended, and what should follow is left out: %s", shown(note.key), what)
    return carried


def follow_up_all(coordinator: SourceCoordinator, key: str | None = None) -> FollowedUp:
    """Do what all notes of a source say, or those of one partition; what fails does not keep the others."""
    result, in_a_row = FollowedUp(), 0
    for note in coordinator.follow_ups(key):
        try:
            result.left_alone += follow_up(coordinator, note).left_alone
            result.done, in_a_row = result.done + 1, 0
        except CoordinationError as error:
            result.failed.append((note, error))
            in_a_row += 1
        if in_a_row == _IN_A_ROW:
            result.gave_up = True
            return result
    return result
