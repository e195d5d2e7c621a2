"""``make proof MINUTES=60``: break what can be broken for so long, and write what came of it to docs/reliability.md.

It goes on where the last time ended; --page only writes the page, --only simulation:in_memory runs one part alone.
--only rest runs what CI tries in part, --only "rest:crash points" one row of it, --only plain:supply the mutants of one
plain module; whatever is run alone, its section on the page is written.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.left_out import ROWS
from tests.mutants.plain.sources import MODULES
from tests.proof import page, parts
from tests.proof.ledger import Ledger

LEDGER = Path(".work/proof/ledger.jsonl")
_ROWS = {"plain": [*MODULES], "rest": [row.name for row in ROWS]}


def main() -> int:
    """Run what was asked for; return 1 if anything is broken."""
    parser = argparse.ArgumentParser(prog="python -m tests.proof", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0, help="how long (60)")
    parser.add_argument(
        "--only",
        action="append",
        metavar="PART",
        help="mutants, model, plain[:MODULE], rest[:ROW]; simulation, processes, merging, branching or duties :STORE",
    )
    parser.add_argument("--ledger", type=Path, default=LEDGER, help=f"what was run so far ({LEDGER})")
    parser.add_argument("--page", action="store_true", help="only write the page")
    given = parser.parse_args()
    ledger = Ledger(given.ledger)
    if not given.page:
        for name in _whole(given.only or _due(ledger)):
            _run(name, given.minutes * 60, ledger, alone=bool(given.only))
    if not given.only:
        page.write(ledger)
    for part in {name.partition(":")[0] for name in given.only or ()}:
        page.renew(part, ledger)
    print(f"written: {page.PAGE}")
    return int(_is_broken(ledger))


def _due(ledger: Ledger) -> list[str]:
    once = ["mutants"] if not ledger.has("mutants") else []
    once += [name for kind in _ROWS for name in _whole([kind]) if not ledger.has(name.replace(":", " "))]
    return [*once, "model", *(f"{kind}:{store}" for kind, stores in parts.STORES.items() for store in stores)]


def _whole(names: Iterable[str]) -> Iterator[str]:
    """Yield the parts, all rows of one that has some one by one."""
    for name in names:
        yield from [f"{name}:{row}" for row in _ROWS[name]] if name in _ROWS else [name]


def _run(name: str, seconds: float, ledger: Ledger, *, alone: bool) -> None:
    print(f"{name} …", flush=True)

    def say(text: str) -> None:
        print(f"{name}: {text}", flush=True)

    kind, _, store = name.partition(":")
    if kind == "mutants":
        parts.mutants(ledger, say)
    elif kind == "plain":
        parts.plain(store, ledger, say)
    elif kind == "rest":
        parts.rest(next(row for row in ROWS if row.name == store), ledger, say)
    elif kind == "model":
        parts.model(seconds * (1 if alone else parts.MODEL_SHARE), ledger, say)
    else:
        runs = {"simulation": parts.simulation, "processes": parts.processes}
        run = (runs | {"merging": parts.merging, "branching": parts.branching, "duties": parts.duties})[kind]
        run(store, seconds * (1 if alone else parts.STORES[kind][store]), ledger, say)


def _is_broken(ledger: Ledger) -> bool:
    newest = (ledger.simulated.newest(store) for store in parts.STORES["simulation"])
    simulated = (kept.tally.broken for kept in newest if kept)
    real = (
        line["violations"]
        for kind in ("processes", "merging", "branching", "duties")
        for store in parts.STORES[kind]
        for line in ledger.lines(f"{kind} {store}")
    )
    plain = [f"plain {module}" for module in MODULES]
    once = (line["wrong"] for part in ("mutants", "model", *plain) for line in list(ledger.lines(part))[-1:])
    rest = (line["failed"] for row in ROWS for line in list(ledger.lines(f"rest {row.name}"))[-1:])
    return any([*simulated, *real, *once, *rest])


if __name__ == "__main__":
    sys.exit(main())
