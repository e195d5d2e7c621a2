"""What was simulated, kept in the repository: sessions on many machines add up while runs depend on the same files."""

from __future__ import annotations

import fcntl
import json
import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from tests.simulation.batch import Tally
from tests.simulation.loaded import digest

KEPT: Final = Path("tests/proof/simulated.json")


@dataclass(frozen=True)
class Kept:
    """What is kept of one store and the files that its runs depended on.

    :param files: their digest.
    :param code: the commit of the last of them, and ``at`` when it was.
    :param tally: of all seeds from 0 on.
    """

    files: str
    code: str
    at: str
    tally: Tally

    @property
    def made(self) -> str:
        """The commit and the day."""
        return f"`{self.code}` ({self.at[:10]})"


class Simulated:
    """The tallies of seeds, one for each store and digest; a digest that comes back goes on where it ended.

    :param path: of the file; made with the first tally.
    :param digest: of the files that a run on a store depends on.
    """

    def __init__(self, path: Path = KEPT, digest: Callable[[str], str] = digest) -> None:
        self._path, self._digest, self._files = path, digest, dict[str, str]()

    def newest(self, store: str) -> Kept | None:
        """Return what was simulated last on a store."""
        return max(self._of(store), key=lambda kept: kept.at, default=None)

    def before(self) -> dict[str, int]:
        """Return operations, faults and violations on files that are not those of the newest tallies."""
        total = Counter(self._read()["before"])
        for store in {name.split()[0] for name in self._read() if " " in name}:
            for kept in sorted(self._of(store), key=lambda kept: kept.at)[:-1]:
                did = kept.tally.operations, kept.tally.faults.total(), len(kept.tally.broken)
                total.update(dict(zip(("operations", "faults", "violations"), did, strict=True)))
        return dict(total)

    def begin(self, store: str) -> int:
        """Return the first seed that was not run yet on the files of today."""
        self._files[store] = self._digest(store)
        return max((kept.tally.seeds for kept in self._of(store) if kept.files == self._files[store]), default=0)

    def add(self, found: Tally, code: str) -> None:
        """Keep what the next seeds of a store did, after :meth:`begin`.

        :param code: the commit that is checked out.
        :raises RuntimeError: when somebody else has added seeds meanwhile; nothing of what is kept is changed.
        """
        store, files, at = found.store, self._files[found.store], datetime.now(UTC).isoformat(timespec="microseconds")
        with self._alone():
            ours = next(
                (kept for kept in self._of(store) if kept.files == files), Kept(files, code, at, Tally(store, 0))
            )
            if ours.tally.seeds != found.first:
                raise RuntimeError(
                    f"{self._path} has {ours.tally.seeds} seeds of {store} by now, and these begin at {found.first}: "
                    f"somebody else simulates, too. Let it be one at a time"
                )
            whole = replace(ours, code=code, at=at, tally=ours.tally + found)
            self._write({**self._read(), f"{store} {files}": {**vars(whole), "tally": vars(whole.tally)}})

    def _of(self, store: str) -> Iterator[Kept]:
        for name, kept in self._read().items():
            if name.startswith(f"{store} "):
                counted = {each: Counter(kept["tally"][each]) for each in ("told", "faults")}
                yield Kept(**{**kept, "tally": Tally(**{**kept["tally"], **counted})})

    def _read(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self._path.read_text()) if self._path.exists() else {"before": {}}
        return found

    def _write(self, kept: dict[str, Any]) -> None:
        beside = self._path.with_suffix(".new")
        beside.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n")
        beside.replace(self._path)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        folder = os.open(self._path.parent, os.O_RDONLY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            yield
        finally:
            os.close(folder)
