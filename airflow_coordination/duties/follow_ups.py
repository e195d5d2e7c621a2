"""Follow-ups of endings: from ``then=`` to a note and back, told to people, done by whoever finds it."""

from __future__ import annotations

import hashlib
import json
import logging
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

from airflow_coordination.duties.duty import DutyReport, run_duties
from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.outputs.layout import partition_directory
from airflow_coordination.protocol.follow_up import (
    MAX_BYTES,
    Carried,
    FollowUp,
    FollowUpError,
    FollowUpNotAllowedError,
    Place,
    SourceAction,
    Then,
    listed_actions,
    no_action,
)
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.remedies import typed
from airflow_coordination.systems.http.call import CallUrl
from airflow_coordination.systems.kafka.offsets import CommitOffsets
from airflow_coordination.systems.objects.deletion import DeleteObjects
from airflow_coordination.systems.objects.storage import delete_file, is_local, join, parent, read_bytes, write_bytes
from airflow_coordination.systems.rights import NO_RIGHTS, FollowUpRights
from airflow_coordination.systems.sqs.deletion import DeleteMessages
from airflow_coordination.systems.sqs.visibility import ShowMessages
from airflow_coordination.values.documents import parse
from airflow_coordination.values.fence import Fence
from airflow_coordination.values.input_errors import (
    CoordinationError,
    InvalidInputError,
    SettingsError,
    printable,
    shown,
)

_ACTIONS: Final[tuple[type[SourceAction], ...]] = (
    DeleteObjects,
    DeleteMessages,
    ShowMessages,
    CommitOffsets,
    CallUrl,
)
KINDS: Final = {each.kind: each for each in _ACTIONS}
LISTS: Final = "_follow_ups"
"""The directory of long notes below an output root."""
_MAX_FILE, _MAX_DEPTH = 64 * 1024 * 1024, 64
_LENGTH: Final = 300


def actions_of(then: Then, field: str = "then") -> tuple[SourceAction, ...]:
    """Return the actions of ``then=``, one after the other.

    :param field: what it was given to.
    :raises InvalidInputError: for anything that is none of the actions there are: nobody could read it in a note.
    """
    given = listed_actions(then, field)
    for each in given:
        if type(each) not in KINDS.values():
            raise no_action(each, field)
    return given


def pinned(then: Then, partition: Partition, field: str = "then") -> tuple[SourceAction, ...]:
    """Return what ``then=`` was given, on exactly what is there as the partition ends.

    :param partition: as it is when it ends.
    :param field: what it was given to.
    :raises OutputError: when a storage cannot be asked.
    """
    return tuple(action.pinned(partition) for action in actions_of(then, field))


def text_of(actions: Sequence[SourceAction]) -> str | None:
    """Return the text of a note that says to do these, ``None`` when there is nothing to do."""
    if not actions:
        return None
    return json.dumps([{"kind": each.kind, **each.to_json()} for each in actions], separators=(",", ":"))


def note_of(then: Then, partition: Partition, fence: Fence, output_root: str | None) -> str | None:
    """Return the text of a note, ``None`` when there is nothing to do.

    :param then: what is given to an outcome, or what :func:`pinned` has made of it.
    :param partition: as it is when it ends.
    :param fence: of the tenure.
    :param output_root: where a note that is too long for the store is written.
    :raises SettingsError: when it is too long for the store, and there is no such place.
    :raises InvalidInputError: when it is too long to be read again from there.
    :raises OutputError: when it cannot be written there, or a storage cannot be asked.
    """
    text = text_of(pinned(then, partition))
    if text is None:
        return None
    content = text.encode()
    if len(content) <= MAX_BYTES:
        return text
    if output_root is None:
        problem = f"then= is {len(content):,} bytes of JSON, of which {MAX_BYTES:,} fit into the store"
        raise SettingsError("output_root", None, problem, "Set it, so that the list has a place, or name less")
    if len(content) > _MAX_FILE:
        problem = f"says {len(content):,} bytes of JSON, of which {_MAX_FILE:,} can be read again"
        raise InvalidInputError("then", shown(text[:_LENGTH]), problem, "Name less in each partition, or shorter keys")
    address = join(output_root, lists_of(partition.source, partition.key), f"{fence}.json")
    write_bytes(address, content)
    return json.dumps({"file": address, "digest": _digest(content)}, separators=(",", ":"))


def lists_of(source: str, key: str) -> str:
    """Return the directory of a partition's long notes, relative to an output root.

    :param source: the stored source identifier.
    """
    return join(LISTS, partition_directory(source, key))


def actions_in(note: FollowUp, rights: FollowUpRights) -> list[SourceAction]:
    """Return what a note says.

    :param rights: of who has found it: a long one has its list in a file, which is not read anywhere else.
    :raises FollowUpError: when this code does not understand it, or its file is missing or is not what was written.
    :raises FollowUpNotAllowedError: when its file is elsewhere.
    """
    address = list_in(note)
    if address is None:
        return said_in(note.text)
    if not rights.allow_list(address, lists_of(note.source, note.key)):
        raise not_allowed("read a list of what follows", address, "output_root")
    return said_in(_content(address, str(_parsed(note.text).get("digest"))))


def list_in(note: FollowUp) -> str | None:
    """Return the address of the list of a note that is too long for the store, ``None`` for every other.

    :raises FollowUpError: when it is not understood.
    """
    found = _parsed(note.text)
    if not isinstance(found, dict):
        return None
    if not isinstance(found.get("file"), str):
        raise _not_understood(KeyError("file"))
    return str(found["file"])


def said_in(text: str | bytes) -> list[SourceAction]:
    """Return the actions in a note, or in its list.

    :raises FollowUpError: when this code does not understand them, whatever they are.
    """
    try:
        found = _parsed(text)
        if not isinstance(found, list):
            raise TypeError("it is no list")
        return [KINDS[each["kind"]].from_json(each) for each in found]
    except FollowUpError:
        raise
    except Exception as error:
        raise _not_understood(error) from error


def _parsed(text: str | bytes) -> Any:
    try:
        return parse(text, max_bytes=_MAX_FILE, max_depth=_MAX_DEPTH)
    except ValueError as error:
        raise _not_understood(error) from error


def _not_understood(error: Exception) -> FollowUpError:
    remedy = "Use the version of this package that has written it, or a newer one"
    return FollowUpError("read a follow-up", f"it is not understood ({printable(repr(error), _LENGTH)})", remedy)


def not_allowed(what: str, address: str, setting: str) -> FollowUpNotAllowedError:
    """Return the error that says what nobody has allowed, and how it is allowed or done.

    :param setting: of :class:`FollowUpRights`.
    """
    problem = f"nobody has allowed it for {shown(address)}, and whoever may write into the store may ask for it"
    remedy = f"Name it in follow_up_rights=FollowUpRights({setting}=…) of CreatePartitionsOperator, or let a person"
    return FollowUpNotAllowedError(what, problem, f"{remedy} look at it, and do it with finish-actions")


def forget_file(text: str) -> None:
    """Delete the file of a note that is done, if it has one."""
    found = json.loads(text)
    if isinstance(found, dict):
        delete_file(found["file"])


def _content(address: str, digest: str) -> bytes:
    try:
        content = read_bytes(address)
    except FileNotFoundError as error:
        remedy = "Look whether the output root was moved or cleaned by hand"
        raise FollowUpError("read a follow-up", f"its list at {address} is not there", remedy) from error
    if _digest(content) != digest:
        remedy = "Restore it, or do by hand what it says"
        raise FollowUpError("read a follow-up", f"its list at {address} was changed since", remedy)
    return content


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


log = logging.getLogger(__name__)
_SHOWN: Final = 5
_IN_A_ROW: Final = 10
"""Failures in a row after which a place counts as unreachable; its other notes have to wait."""


@dataclass(slots=True)
class FollowedUp:
    """What came of the notes of a source.

    :param done: how many are done and gone.
    :param left_alone: what was left as it is because it is another thing now.
    :param failed: those that stay, with the reason.
    :param waiting: those that nobody has allowed, with what they ask for: they wait for a person.
    :param gone: how many were done or taken back after they were looked at: they say nothing any more.
    :param gave_up: whether too many failed in a row at one place, so that not all were tried.
    """

    done: int = 0
    left_alone: list[str] = field(default_factory=list)
    failed: list[tuple[FollowUp, CoordinationError]] = field(default_factory=list)
    waiting: list[tuple[FollowUp, FollowUpNotAllowedError]] = field(default_factory=list)
    gone: int = 0
    gave_up: bool = False


def follow_up(coordinator: SourceCoordinator, note: FollowUp, actions: Sequence[SourceAction]) -> Carried:
    """Do what a note says, then take it away.

    :param actions: what it says: the driver's own, or those that who found it was allowed.
    :raises CoordinationError: when not all could be done, whatever is the matter; the note stays.
    """
    try:
        carried = sum((_carried_out(action) for action in actions), Carried())
    except CoordinationError:
        coordinator.follow_ups.count_follow_up(done=False)
        raise
    coordinator.follow_ups.clear_follow_up(note)
    coordinator.follow_ups.count_follow_up(done=True)
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
    return follow_up_notes(coordinator, coordinator.follow_ups.follow_ups(key), rights)


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
            coordinator.follow_ups.count_follow_up(done=False)
            result.failed.append((note, error))
            continue
        places = _reached(actions)
        if failures.too_many(places):
            result.gave_up = True
            continue
        try:
            if not _is_there(coordinator, note):
                result.gone += 1
                continue
            result.left_alone += follow_up(coordinator, note, actions).left_alone
            result.done += 1
            failures.forget(places)
        except CoordinationError as error:
            result.failed.append((note, error))
            failures.count(places)
    return result


def _is_there(coordinator: SourceCoordinator, note: FollowUp) -> bool:
    """Return whether a note still says what it did: a person may have thought long, and others before it taken long."""
    return any(each.op == note.op for each in coordinator.follow_ups.follow_ups(note.key))


@dataclass(frozen=True, slots=True)
class FollowUps:
    """The duty: does what notes of a source say that its drivers have left.

    :param rights: what this process may do of what it finds.
    :param notes: those that somebody has looked at; all that are there if left out.
    """

    name: ClassVar[str] = "what follows endings"
    rights: FollowUpRights
    notes: Sequence[FollowUp] | None = None

    def run(self, coordinator: SourceCoordinator) -> DutyReport[FollowedUp]:
        """Do each of them; what fails does not keep the others."""
        notes = coordinator.follow_ups.follow_ups() if self.notes is None else self.notes
        found = follow_up_notes(coordinator, notes, self.rights)
        return DutyReport(self.name, found, stays=len(found.failed) + len(found.waiting))


def follow_up_what_is_left(coordinator: SourceCoordinator, rights: FollowUpRights) -> None:
    """Do what drivers have left, and log it; what fails stays for the next time and for people, and nothing is raised.

    :param rights: of the process.
    """
    source = shown(coordinator.source)
    [report] = run_duties(coordinator, [FollowUps(rights)])
    if report.error is not None:
        log.warning("What follows partitions of source %s could not be looked at: %s", source, report.error)
        return
    found = report.result()
    if found.done:
        log.info("Source %s: %d follow-up(s) were left by drivers, and are done.", source, found.done)
    stay = [*found.failed[:_SHOWN], *found.waiting[:_SHOWN]]
    for note, why in stay:
        log.warning("What follows partition %s stays to be done: %s", shown(note.key), why)
    if stay:
        untried = " and others were not tried" if found.gave_up else ""
        told = "%d follow-up(s) stay%s, %d of them because nobody has allowed them here; `%s` shows and does them."
        log.warning(told, report.stays, untried, len(found.waiting), typed(coordinator, "finish-actions"))


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


_NAMED, _LENGTH_TOLD = 10, 200


def told(note: FollowUp) -> str:
    """Return what a note says in a few words, or why it cannot be read; nothing is asked and no file is read."""
    try:
        address = list_in(note)
        if address is not None:
            return f"do what the list at {printable(address, _LENGTH_TOLD)} says"
        return "; ".join(_told(action) for action in said_in(note.text)) or "nothing"
    except FollowUpError as error:
        return str(error)


def understood(note: FollowUp) -> bool:
    """Return whether this code can read a note."""
    try:
        return list_in(note) is not None or said_in(note.text) is not None
    except FollowUpError:
        return False


def _told(action: SourceAction) -> str:
    numbers = Counter(_where(place) for place in action.places())
    named = [
        f"{printable(where, _LENGTH_TOLD)}{f' ({number})' if number > 1 else ''}" for where, number in numbers.items()
    ]
    more = f", and {len(named) - _NAMED} more places" if len(named) > _NAMED else ""
    return f"{action.kind}: {', '.join(named[:_NAMED])}{more}"


def _where(place: Place) -> str:
    return f"{parent(place.address)}/" if place.kind == "objects" else place.address
