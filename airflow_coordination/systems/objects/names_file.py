"""The names of a large group of objects, in a file below an output root, where a payload of 4 KB has no room for them.

A file is addressed by the digest of what is in it, and is never changed: the same names are the same file. It is
written before the supplier saves the plan that names it, and the plan is saved before the partition is created. The
payload says address, number and digest, so that whoever reads the file knows that it is what was written.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from airflow_coordination.systems.objects.storage import is_there, join, read_bytes, write_bytes
from airflow_coordination.values.documents import parse
from airflow_coordination.values.input_errors import InvalidInputError, printable

FIELD: Final = "names_file"
"""In the payload of a group, instead of ``names``: code that knows no such files finds neither, and fails."""
DIRECTORY: Final = "_names"
"""Below an output root."""
SUFFIX: Final = ".json"
MAX_NAMES: Final = 100_000
MAX_BYTES: Final = 16 * 1024 * 1024
_REMEDY: Final = (
    "Put that file back as it was, and reset the partition. Or delete that, and list its objects in a new source"
)


@dataclass(frozen=True, slots=True)
class NamesFile:
    """A file of names, as a payload says it.

    :param address: where it is.
    :param count: how many names are in it.
    :param sha256: its digest, in hexadecimal.
    """

    address: str
    count: int
    sha256: str

    @classmethod
    def of(cls, payload: Mapping[str, Any]) -> NamesFile | None:
        """Return the file that a payload names, ``None`` where it names none.

        :raises InvalidInputError: when what stands there is no file of names.
        """
        said = payload.get(FIELD)
        if said is None:
            return None
        found = said if isinstance(said, dict) else {}
        address, count, sha256 = found.get("address"), found.get("count"), found.get("sha256")
        if not isinstance(address, str) or type(count) is not int or not isinstance(sha256, str):
            problem = "does not say address, count and sha256 of a file of names"
            raise InvalidInputError(f"payload.{FIELD}", said, problem, _REMEDY)
        return cls(address, count, sha256)

    def document(self) -> dict[str, Any]:
        """Return it as a payload says it."""
        return asdict(self)

    def names(self) -> list[str]:
        """Return the names in it.

        :raises InvalidInputError: when it is missing, or is not what was written.
        :raises OutputError: when the storage cannot be asked.
        """
        place = printable(self.address)
        try:
            content = read_bytes(self.address)
        except FileNotFoundError as error:
            problem = f"the group's names are not there any more: {place} is missing"
            raise InvalidInputError(f"payload.{FIELD}.address", self.address, problem, _REMEDY) from error
        found = _digest(content)
        if found != self.sha256:
            problem = f"is not the digest of {place}, which is {found}: somebody has changed the group's names"
            raise InvalidInputError(f"payload.{FIELD}.sha256", self.sha256, problem, _REMEDY)
        names = _names_in(content)
        if len(names) != self.count:
            problem = f"is not how many names {place} has: {len(names):,}"
            raise InvalidInputError(f"payload.{FIELD}.count", self.count, problem, _REMEDY)
        return names


class NamesFiles:
    """Where a supplier writes the names of its groups.

    :param output_root: normalised.
    :param store_id: of the store that has the partitions.
    :param source: its stored identifier.
    """

    def __init__(self, output_root: str, store_id: str, source: str) -> None:
        self._directory = names_directory(output_root, store_id, source)
        self._planned: dict[str, bytes] = {}

    def put(self, names: Sequence[str]) -> NamesFile:
        """Write names, unless they are there already.

        :raises OutputError: when they cannot be written.
        """
        content = json.dumps(names, separators=(",", ":")).encode()
        sha256 = _digest(content)
        address = join(self._directory, f"{sha256}{SUFFIX}")
        if not _holds(address, content):  # what a killed supplier has left may be half a file
            write_bytes(address, content)
        self._planned[address] = content
        return NamesFile(address, len(names), sha256)

    def keep(self) -> None:
        """Write again what is gone: the collector may have judged a file of before while no plan named it yet.

        To be called when the plan is saved, and before its partitions are created.

        :raises OutputError: when the storage cannot be asked.
        """
        for address, content in self._planned.items():
            if not is_there(address):
                write_bytes(address, content)
        self._planned.clear()


def names_directory(output_root: str, store_id: str, source: str) -> str:
    """Return the directory of a source's files of names: that of one store, so that no other one's collector looks.

    :param source: the stored source identifier.
    """
    whose = hashlib.sha256(f"{len(store_id)}|{store_id}|{source}".encode()).hexdigest()[:24]
    return join(output_root, DIRECTORY, whose)


def _holds(address: str, content: bytes) -> bool:
    try:
        return read_bytes(address) == content
    except FileNotFoundError:
        return False


def _names_in(content: bytes) -> list[str]:
    """Return the names in a file, none where it is no list of them."""
    try:
        found = parse(content, max_bytes=MAX_BYTES, max_depth=1)
    except ValueError:
        return []
    return [each for each in found if isinstance(each, str)] if isinstance(found, list) else []


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
