"""Groups of duties from a file of Druid's properties."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from airflow_coordination.planning.duties.groups import Duties, duties_of
from airflow_coordination.planning.duties.properties import MAX_BYTES, read_properties
from airflow_coordination.values.input_errors import SettingsError

OPTION: Final = "[coordination] duties_properties"


def read_duties(
    properties: Mapping[str, object] | Path | str, known: Collection[str] = (), name: str = OPTION
) -> Duties:
    """Return the groups of duties that properties say.

    :param properties: Druid's keys as a mapping, or the path of a file that has them; an empty path for none.
    :param known: the names of own duties beside the built-in ones.
    :param name: how errors name the path.
    :raises SettingsError: when the file cannot be read, or a property cannot be, naming it and what to write instead.
    :raises InvalidInputError: for a period that is none.
    """
    if isinstance(properties, Mapping):
        return duties_of(properties, known)
    if not str(properties).strip():
        return duties_of({}, known)
    path = Path(properties).expanduser()
    found = read_properties(str(path), _text(path, name))
    duties = duties_of(found.values, known)
    twice = (f"{key} is named twice in {path}: the last one counts" for key in found.twice)
    return replace(duties, warnings=(*twice, *duties.warnings))


def _text(path: Path, name: str) -> str:
    """Return what a file says; Druid writes and reads UTF-8."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return file.read(MAX_BYTES + 1)
    except (OSError, UnicodeDecodeError) as error:
        problem, remedy = f"cannot be read ({error})", "Name a file of properties that this process may read, in UTF-8"
        raise SettingsError(name, str(path), problem, remedy) from None
