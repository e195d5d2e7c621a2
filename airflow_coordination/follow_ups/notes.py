"""From what ``then=`` was given to the text of a note, and back. A long one is a file, of which the note has the place.

The file is below the output root, outside of the attempts: nothing collects it, and it is deleted when all is done.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any, Final

from airflow_coordination.follow_ups.messages import DeleteMessages
from airflow_coordination.follow_ups.objects import DeleteObjects
from airflow_coordination.follow_ups.offsets import CommitOffsets
from airflow_coordination.follow_ups.rights import FollowUpRights
from airflow_coordination.follow_ups.url import CallUrl
from airflow_coordination.follow_ups.visibility import ShowMessages
from airflow_coordination.outputs.layout import partition_directory
from airflow_coordination.outputs.storage import delete_file, join, read_bytes, write_bytes
from airflow_coordination.protocol.follow_up import (
    MAX_BYTES,
    FollowUp,
    FollowUpError,
    FollowUpNotAllowedError,
    SourceAction,
    Then,
    listed_actions,
    no_action,
)
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.values.documents import parse
from airflow_coordination.values.fence import Fence
from airflow_coordination.values.input_errors import SettingsError, printable, shown

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
_SHOWN: Final = 300


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
    :raises SettingsError: when it is too long, and there is no such place.
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
    return FollowUpError("read a follow-up", f"it is not understood ({printable(repr(error), _SHOWN)})", remedy)


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
