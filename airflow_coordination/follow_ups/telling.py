"""Saying to people what a note says, before anything of it is done."""

from __future__ import annotations

from collections import Counter

from airflow_coordination.follow_ups.notes import list_in, said_in
from airflow_coordination.outputs.storage import parent
from airflow_coordination.protocol.follow_up import FollowUp, FollowUpError, Place, SourceAction
from airflow_coordination.values.input_errors import printable

_NAMED, _SHOWN = 10, 200


def told(note: FollowUp) -> str:
    """Return what a note says in a few words, or why it cannot be read; nothing is asked and no file is read."""
    try:
        address = list_in(note)
        if address is not None:
            return f"do what the list at {printable(address, _SHOWN)} says"
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
    named = [f"{printable(where, _SHOWN)}{f' ({number})' if number > 1 else ''}" for where, number in numbers.items()]
    more = f", and {len(named) - _NAMED} more places" if len(named) > _NAMED else ""
    return f"{action.kind}: {', '.join(named[:_NAMED])}{more}"


def _where(place: Place) -> str:
    return f"{parent(place.address)}/" if place.kind == "objects" else place.address
