"""Doing what notes say, and taking them away: by the driver right after its ending, later by whoever finds them."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from airflow_coordination.follow_ups.notes import actions_in, forget_file, not_allowed
from airflow_coordination.follow_ups.offsets import CommitOffsets
from airflow_coordination.follow_ups.rights import NO_RIGHTS, FollowUpRights
from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.outputs.storage import is_local, parent
from airflow_coordination.protocol.follow_up import (
    Carried,
    FollowUp,
    FollowUpError,
    FollowUpNotAllowedError,
    Place,
    SourceAction,
)
from airflow_coordination.protocol.remedies import typed
from airflow_coordination.values.input_errors import CoordinationError, printable, shown

log = logging.getLogger(__name__)
_SHOWN: Final = 5
_IN_A_ROW: Final = 10
"""So many failures in a row at one place say that it cannot be reached; the rest of it has to wait."""


@dataclass(slots=True)
class FollowedUp:
    """What came of the notes of a source.

    :param done: how many are done and gone.
    :param left_alone: what was left as it is because it is another thing now.
    :param failed: those that stay, with the reason.
    :param waiting: those that nobody has allowed, with what they ask for: they wait for a person.
    :param gave_up: whether too many failed in a row at one place, so that not all were tried.
    """

    done: int = 0
    left_alone: list[str] = field(default_factory=list)
    failed: list[tuple[FollowUp, CoordinationError]] = field(default_factory=list)
    waiting: list[tuple[FollowUp, FollowUpNotAllowedError]] = field(default_factory=list)
    gave_up: bool = False


def follow_up(coordinator: SourceCoordinator, note: FollowUp, actions: Sequence[SourceAction]) -> Carried:
    """Do what a note says, then take it away.

    :param actions: what it says: the driver's own, or those that who found it was allowed.
    :raises CoordinationError: when not all could be done, whatever is the matter; the note stays.
    """
    try:
        carried = sum((_carried_out(action) for action in actions), Carried())
    except CoordinationError:
        coordinator.count_follow_up(done=False)
        raise
    coordinator.clear_follow_up(note)
    coordinator.count_follow_up(done=True)
    for what in carried.left_alone:
        log.warning("Partition %s has ended, and what should follow is left out: %s", shown(note.key), what)
    try:
        forget_file(note.text)
    except CoordinationError as error:
        log.warning("What follows partition %s is done, and its list stays: %s", shown(note.key), error)
    return carried


def follow_up_all(
    coordinator: SourceCoordinator, key: str | None = None, rights: FollowUpRights = NO_RIGHTS
) -> FollowedUp:
    """Do what the notes of a source say, or those of one partition; what fails does not keep the others.

    :param rights: what this process may do of what it finds; the notes that say anything else stay, and wait.
    """
    return follow_up_notes(coordinator, coordinator.follow_ups(key), rights)


def follow_up_notes(coordinator: SourceCoordinator, notes: Iterable[FollowUp], rights: FollowUpRights) -> FollowedUp:
    """Do what these notes say, those that somebody has looked at; see :func:`follow_up_all`."""
    result, failures = FollowedUp(), _Failures()
    for note in notes:
        try:
            actions = allowed(note, rights)
        except FollowUpNotAllowedError as error:
            result.waiting.append((note, error))
            continue
        except CoordinationError as error:
            coordinator.count_follow_up(done=False)
            result.failed.append((note, error))
            continue
        places = _reached(actions)
        if failures.too_many(places):
            result.gave_up = True
            continue
        try:
            result.left_alone += follow_up(coordinator, note, actions).left_alone
            result.done += 1
            failures.forget(places)
        except CoordinationError as error:
            result.failed.append((note, error))
            failures.count(places)
    return result


def follow_up_what_is_left(coordinator: SourceCoordinator, rights: FollowUpRights) -> None:
    """Do what drivers have left, and log it; what fails stays for the next time and for people, and nothing is raised.

    :param rights: of the process.
    """
    source = shown(coordinator.source)
    try:
        found = follow_up_all(coordinator, rights=rights)
    except Exception as error:
        log.warning("What follows partitions of source %s could not be looked at: %s", source, error)
        return
    if found.done:
        log.info("Source %s: %d follow-up(s) were left by drivers, and are done.", source, found.done)
    stay = [*found.failed[:_SHOWN], *found.waiting[:_SHOWN]]
    for note, why in stay:
        log.warning("What follows partition %s stays to be done: %s", shown(note.key), why)
    if stay:
        number, waiting = len(found.failed) + len(found.waiting), len(found.waiting)
        untried = " and others were not tried" if found.gave_up else ""
        told = "%d follow-up(s) stay%s, %d of them because nobody has allowed them here; `%s` shows and does them."
        log.warning(told, number, untried, waiting, typed(coordinator, "finish-actions"))


def allowed(note: FollowUp, rights: FollowUpRights) -> list[SourceAction]:
    """Return what a note says, if all of it is allowed.

    :raises FollowUpNotAllowedError: naming the first thing that is not.
    :raises FollowUpError: when it cannot be read.
    """
    actions = actions_in(note, rights)
    for action in actions:
        for place in action.places():
            if not rights.allow(place):
                raise not_allowed(action.kind, place.address, place.kind)
    return [each.with_options(rights.options) if isinstance(each, CommitOffsets) else each for each in actions]


def _carried_out(action: SourceAction) -> Carried:
    try:
        return action.carry_out()
    except CoordinationError:
        raise
    except Exception as error:  # a library that is missing, or one that refuses in words of its own
        problem = f"it ended with {printable(repr(error), 300)}"
        remedy = "Look whether its library is installed here; take the note away with --forget if it can never be done"
        raise FollowUpError(action.kind, problem, remedy) from error


class _Failures:
    """How often each place has failed in a row: a place that cannot be reached does not keep the others."""

    def __init__(self) -> None:
        self._in_a_row: dict[str, int] = {}

    def too_many(self, places: Iterable[str]) -> bool:
        return any(self._in_a_row.get(place, 0) >= _IN_A_ROW for place in places)

    def count(self, places: Iterable[str]) -> None:
        for place in places:
            self._in_a_row[place] = self._in_a_row.get(place, 0) + 1

    def forget(self, places: Iterable[str]) -> None:
        for place in places:
            self._in_a_row.pop(place, None)


def _reached(actions: Iterable[SourceAction]) -> set[str]:
    """Return what has to be reached for them: hosts and buckets; of this machine's files the directory."""
    return {_reach(place) for action in actions for place in action.places()}


def _reach(place: Place) -> str:
    if place.kind == "servers" or is_local(place.address):
        return place.address if place.kind == "servers" else parent(place.address)
    return "/".join(place.address.split("/", 3)[:3])
