"""The files of groups' names that nobody needs: no partition has them, and no plan of the supplier.

A supplier writes the file, then saves the plan that names it, then creates the partition, then saves a plan without it;
it saves nothing once its lease is over. So a file that was there before the supplier was seen at rest, and that neither
its plan named then, nor any partition that was read after that, is named by nothing that is still to come, but for a
run that begins later and finds the same names again. Such a run is looked for before each deletion, and the supplier
looks for its files once more when it has saved their plan.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Set
from datetime import UTC, datetime, timedelta
from typing import Final

from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.systems.objects.names_file import FIELD, SUFFIX, names_directory
from airflow_coordination.systems.objects.storage import StoredFile, join, list_files
from airflow_coordination.values.names import GLOBAL_STATE_KEY, compose_source, split_source
from airflow_coordination.values.status import PartitionStatus

_PAGE: Final = 1_000
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_FILE: Final = re.compile(_DIGEST.pattern + re.escape(SUFFIX))


class GroupNames:
    """The files of names of one source, and which of them may go.

    :param store: the store that has its partitions.
    :param source: its stored identifier.
    :param output_root: normalised.
    :param older_than: files that were written more recently stay.
    :raises OutputError: when the storage cannot be listed.
    """

    def __init__(self, store: PartitionStore, source: str, output_root: str, older_than: timedelta) -> None:
        prefix, name, _ = split_source(source)
        self._store, self._source = store, source
        self._suppliers = compose_source(name, prefix, "GLOBAL_STATE")
        self._seen: _Run = None
        directory = names_directory(output_root, store.store_id, source)
        limit = datetime.now(UTC) - older_than
        old = [file for file in list_files(directory) if _FILE.fullmatch(file.path) and _is_old(file, limit)]
        needed = self._needed() if old else frozenset[str]()
        self.orphans = [] if needed is None else [join(directory, each.path) for each in old if each.path not in needed]
        """Their addresses."""

    def while_at_rest(self) -> Iterator[str]:
        """Yield the addresses, each as long as no run of the supplier has begun; from then on they are no orphans."""
        for number, address in enumerate(self.orphans):
            if _run_of(self._supplier()) != self._seen:
                del self.orphans[number:]
                return
            yield address

    def _needed(self) -> Set[str] | None:
        """Return the names of the files that are needed; ``None`` while the supplier runs: it may need all of them."""
        supplier = self._supplier()
        if supplier is not None and supplier.status is PartitionStatus.ASSIGNED:
            return None
        self._seen = _run_of(supplier)
        needed = set(_named(supplier.progress_text if supplier else None))
        after: str | None = None
        while page := self._store.page(self._source, None, after, _PAGE):
            needed.update(name for partition in page for name in _named(partition.payload_text))
            after = page[-1].key
        return needed

    def _supplier(self) -> Partition | None:
        return self._store.get(self._suppliers, GLOBAL_STATE_KEY)


_Run = tuple[int, str] | None


def _run_of(supplier: Partition | None) -> _Run:
    """Return what is another one as soon as a run begins, or saves anything."""
    return None if supplier is None else (supplier.token, supplier.last_op)


def _is_old(file: StoredFile, limit: datetime) -> bool:
    return file.modified is not None and file.modified <= limit


def _named(text: str | None) -> Iterator[str]:
    """Yield the names of the files of names in a JSON text: whatever may be one's digest counts."""
    if text and f'"{FIELD}"' in text:
        yield from (f"{digest}{SUFFIX}" for digest in _DIGEST.findall(text))
