"""What was simulated, kept in the repository: sessions on several machines add up while a run loads the same files."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from tests.simulation.batch import Tally
from tests.simulation.loaded import digest

KEPT: Final = Path("tests/proof/simulated.json")


class Simulated:
    """The tallies of seeds, one for each store, and the sums of those of other files.

    :param path: of the file; made with the first tally.
    :param digest: of the files that a run on a store loads.
    """

    def __init__(self, path: Path = KEPT, digest: Callable[[str], str] = digest) -> None:
        self._path, self._digest = path, digest
        self._kept: dict[str, Any] = {"earlier": {"operations": 0, "faults": 0, "violations": 0}, "stores": {}}
        if path.exists():
            self._kept = json.loads(path.read_text())

    @property
    def earlier(self) -> dict[str, int]:
        """The operations, faults and violations of files that are others by now."""
        return dict(self._kept["earlier"])

    @property
    def codes(self) -> dict[str, str]:
        """The commit and the day of the last tally of each store."""
        return {store: f"`{kept['code']}` ({kept['day']})" for store, kept in self._kept["stores"].items()}

    def files(self, store: str) -> str:
        """Return the digest of the files that a store's tally is of; empty for none."""
        return str(self._kept["stores"].get(store, {}).get("files", ""))

    def tally(self, store: str) -> Tally:
        """Return what was kept of a store."""
        kept = self._kept["stores"].get(store)
        if kept is None:
            return Tally(store, 0)
        found = Tally(**kept["tally"])
        found.told, found.faults = Counter(found.told), Counter(found.faults)
        return found

    def begin(self, store: str) -> int:
        """Return the first seed that was not run yet, which is 0 where files have changed since."""
        files = self._digest(store)
        if self.files(store) != files:
            old = self.tally(store)
            did = {"operations": old.operations, "faults": old.faults.total(), "violations": len(old.broken)}
            self._kept["earlier"] = {name: number + did[name] for name, number in self.earlier.items()}
            self._kept["stores"][store] = {"files": files, "tally": vars(Tally(store, 0))}
        return self.tally(store).seeds

    def add(self, found: Tally, code: str) -> None:
        """Keep what the next seeds of a store did.

        :param code: the commit that is checked out.
        """
        kept = self._kept["stores"][found.store]
        kept["tally"] = vars(self.tally(found.store) + found)
        kept |= {"code": code, "day": datetime.now(UTC).date().isoformat()}
        self._path.write_text(json.dumps(self._kept, indent=1, sort_keys=True) + "\n")
