"""``docs/reliability.md``, written from the ledger."""

from __future__ import annotations

import platform
import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Final

from tests.left_out import ROWS, LeftOut
from tests.mutants.plain.sources import MODULES
from tests.processes.report import PER_HUNDRED_FAULTS, PER_THOUSAND_OPERATIONS
from tests.proof.ledger import Ledger, Line
from tests.proof.parts import STORES
from tests.simulation.batch import Tally
from tests.simulation.faults import Fault

PAGE: Final = Path("docs/reliability.md")
_CONTENDED: Final = ("refused", "unknown", "partitions")
LIBRARIES: Final = ("sqlalchemy", "psycopg", "boto3", "greenlet", "hypothesis")
HEAD: Final = """# Reliability, in figures

What was done to the lease protocol, and what came of it. Every operation below was a call of the real coordinator on
a real store, noted before it was made. Afterwards a checker looked for an order of the calls on each partition that the
[state table](explanation/protocol.md) explains (promises S1 to S3, S5 to S8, S10 to S12), and whether everything came
to an end when the faults did (L1). Which test proves which promise is in [another table](reference/promises.md).

`make proof MINUTES=60` does all of this for an hour, goes on where the last time ended, and writes this page.
"""
SIMULATED: Final = """
## In virtual time

Workers with their drivers and retries, suppliers, sweepers and people run the real code in one thread, where every call
is a message that takes time and may meet a fault. One seed is one run: `python -m tests.simulation --store dynamodb
--seed 17` shows it again. The DynamoDB store runs on an engine in the same process, which is compared with DynamoDB
Local by random requests (`tests/integration/engines/test_simulated_engine.py`).

On the way, seeds 3490, 25465, 59677, 63436, 66577, 79177 and 180983 were reported in memory, and each time the
checker was at fault: it did not know of a message that the rules allow to come so late, or twice. It knows now (a
test for each way is in `tests/unit/testing/test_history_check.py` or `tests/unit/stores/test_in_memory_history.py`),
and the seeds were run again. `python -m tests.proof --only simulation:in_memory` goes on with the next seed, on
whichever commit and machine, for as long as what a run depends on is the same: the files of leases and all others of
which it enters a function, and what stands outside of functions where it only takes names. What it has done is in
`tests/proof/simulated.json`, which is committed with this page. The table names the files by a digest; `python -m
tests.simulation.loaded in_memory` prints that of today, and what it is of.
"""

_PER_OPERATIONS, _PER_FAULTS = (
    ", ".join(f"{name.replace('_', ' ')} {floor:g}" for name, floor in floors.items())
    for floors in (PER_THOUSAND_OPERATIONS, PER_HUNDRED_FAULTS)
)
REAL: Final = f"""
## On real processes

Eight workers, their drivers, a supplier and a sweeper, each a process of its own, on a real server or file. A run
counts only with enough contention; the least per 1,000 operations: {_PER_OPERATIONS}; per 100
faults: {_PER_FAULTS}.
`python -m tests.processes --store postgresql --seconds 90` is one run.
"""
MERGING: Final = """
## While groups merge

Three publishers (replace, append, reset, retract), three compactors that are stopped past their leases, a collector
without a margin, and readers that read in steps: overlays, head records, manifests, files. A reader must find exactly
the rows of what the head records that it read name (S21), and these must be what was published (S12); a file that is
missing is a violation. What somebody still reads stays; everything else goes at once. In the middle groups of a second
epoch begin. `python -m tests.merging --store in_memory --seed 2` shows one seed, `--store postgresql --seconds 60`
does it with real processes; with `--without walk`, `filter` or `stop` the same run finds rows too many or too few.

On the way runs on PostgreSQL, SQLite and DynamoDB reported directories that nobody needs, and the check was at fault:
blocks that a parked partition has saved stay for its next tenure. Those runs are not among the figures; the two seeds
(3 on SQLite, 7 on DynamoDB) were run again.
"""
BRANCHING: Final = """
## While branches show

Three publishers (replace, append, reset, retract), two people who begin branches, reset into them, retire, publish,
finalize and roll back, one who hides, restores and purges, a collector without a margin, and readers. All but the
readers are stopped past their leases, and people use the product's own commands. A reader looks at the view and at all
head records before and after it reads; of each partition it must find the rows of the last publication that counts
under one and the same view, whole branches or nothing of them (S22), and what the head records name must be what was
published into that branch (S12). What shows may hide nothing newer, nothing may be added out of readers' sight,
nobody may publish in a branch that was rolled back, and what is emptied may be seen by nobody ever again (S23).
`python -m tests.branching --store in_memory --seed 17` shows one seed, `--store postgresql --seconds 60` does it with
real processes; with `--without token`, `locked`, `same`, `all` or `"rolled back"` the same run finds
what that rule prevents.

On the way runs on PostgreSQL reported resets and endings that no view allowed, and the check was at fault: it took
calls of a long history, which is read in parts, for one another. Those runs are not among the figures; five histories
that were kept break nothing now.
"""
DUTIES: Final = """
## While duties run

The same with two schedulers more, without any lease between them, and killed and stopped like everybody: they change
the rules of the dataset, run `runRules` and then `killUnused`, which empties what has been hidden for long enough. What
a rule hides and a purge empties is judged as all that people hide (S22, S23): who leads late changes nothing that the
newer one would not allow (S25). `python -m tests.proof --only duties:in_memory` goes on with it.
"""
MUTANTS: Final = """
## The checks themselves

A checker that finds nothing may be blind. So the real code is broken on purpose, one condition at a time, and every
broken version must be caught: `make mutants`. Most are made from the operation table itself: each condition, each field
and each record of each rule left out once. What nothing can tell from the code stands in a list with its reason.

The run of 6ec72a77 caught three that stood in that list, too: of what takes a note of a parking away, either condition
that asks for a parking, and the status of a tombstone that is cleaned up. They are off the list, and were tried again.
"""
MODEL: Final = """
## The model

The rules without the code: [an explorer](explanation/model.md) tries every order of messages within bounds. Each rule
is also loosened, to see what it prevents: `make model`.
"""
PLAIN: Final = """
## Plain modules, one expression broken at a time

Around the table stands Python that is none: who asks again, what a lost answer means, how a tenure goes on. There
mutmut breaks each expression of each function, in a copy, and the unit tests of `leases`, the kit in memory or mypy
have to notice. What they do not notice stands in `tests/mutants/plain/known.tsv`, with its reason; one more of them
fails the proof. One module alone: `make mutants ONLY=plain.supply`.
"""
REST: Final = """
## What CI tries in part

`make test` is run for each change, so it tries what a change can break. Of the following it tries a part, and prints
which and why (`tests/left_out.py`). `make test-all` tries all of it, and so does `make proof`, once for each commit;
`python -m tests.proof --only rest` does only that; a row that was broken off goes on with its next test, on the same
commit. This is when it did last. Where files are named by a digest, CI tries all as soon as they are others.
"""


def write(ledger: Ledger, path: Path = PAGE) -> None:
    """Write the page."""
    before = path.read_text() if path.exists() else ""
    path.write_text("".join(_sections(ledger, before)))


def renew(part: str, ledger: Ledger, path: Path = PAGE) -> None:
    """Write only one section; another machine's ledger may have the figures of the others.

    :param part: one of ``ALONE``.
    """
    section, following = ALONE[part]
    text = path.read_text()
    written = "".join(section(ledger, text))
    heading = written.partition("\n\n")[0]
    start = text.index(heading if heading in text else following)
    end = text.index("\n## ", start + 1) if heading in text else start
    path.write_text(f"{text[:start]}{written}{text[end:]}")


def _sections(ledger: Ledger, before: str) -> Iterable[str]:
    yield HEAD
    yield from _simulation(ledger, before)
    yield from _real(ledger, before)
    yield from _merging(ledger, before)
    yield from _branching(ledger, before)
    yield from _duties(ledger, before)
    yield from _mutants(ledger, before)
    yield from _plain(ledger, before)
    yield from _model(ledger, before)
    yield from _rest(ledger, before)
    yield from _versions()


def _table(*rows: Sequence[object]) -> str:
    lines = [" | ".join(str(cell) for cell in row) for row in (rows[0], ["---"] * len(rows[0]), *rows[1:])]
    return "\n" + "".join(f"| {line} |\n" for line in lines)


def _faults(lines: Iterable[Line]) -> Counter[str]:
    total: Counter[str] = Counter()
    for line in lines:
        total.update(line["faults"])
    return total


def _sum(lines: Iterable[Line], field: str) -> int:
    return sum(line[field] for line in lines)


def _made(line: Line) -> str:
    return f"`{line['code']}` ({line['at'][:10]})"


def _simulation(ledger: Ledger, _before: str) -> Iterable[str]:
    yield SIMULATED
    newest = {store: ledger.simulated.newest(store) for store in STORES["simulation"]}
    found = [kept.tally if kept else Tally(store, 0) for store, kept in newest.items()]
    together = sum(found, start=Tally("together", 0))
    marks = [(kept.made, f"`{kept.files}`") if kept else ("", "") for kept in newest.values()]
    rows = [(*_simulated_row(tally), *mark) for tally, mark in zip((*found, together), (*marks, ("", "")), strict=True)]
    yield _table(("store", "seeds", "operations", "faults", "violations", "commit", "files"), *rows)
    before = ", ".join(f"{number:,} {name}" for name, number in sorted(ledger.simulated.before().items(), reverse=True))
    yield f"\nOn files that are others by now: {before or 'nothing'}.\n"
    if not together.operations:
        return
    told = Counter({name: count for name, count in together.told.items() if ":" not in name})
    yield f"\nWhat callers were told: {', '.join(f'{name} {count:,}' for name, count in told.most_common())}.\n"
    faults = together.faults.most_common()
    yield _table(("fault", "times"), *((Fault[name].value, f"{count:,}") for name, count in faults))


def _simulated_row(tally: Tally) -> tuple[object, ...]:
    figures = (tally.seeds, tally.operations, tally.faults.total())
    return (tally.store, *(f"{figure:,}" for figure in figures), len(tally.broken))


_NAMED: Final = {"postgresql": "PostgreSQL", "sqlite": "SQLite", "dynamodb": "DynamoDB Local"}
"""How the names begin that the servers give themselves."""


def _real(ledger: Ledger, before: str) -> Iterable[str]:
    """Yield the figures of each store; those that stand on the page where this ledger has none."""
    yield REAL
    rows, faults = list[tuple[object, ...]](), list[str]()
    for store in STORES["processes"]:
        if lines := list(ledger.lines(f"processes {store}")):
            rows.append(_real_row(lines))
            named = ((name, f"{count:,}") for name, count in _faults(lines).most_common())
            faults.append(f"\n{lines[-1]['store']}:\n{_table(('fault', 'times'), *named)}")
        elif known := re.search(rf"^\| ({_NAMED[store]} [^|]*) \| (.*) \|$", before, re.MULTILINE):
            rows.append((known[1], *known[2].split(" | ")))
            faults += re.findall(rf"\n{re.escape(known[1])}:\n\n(?:\|.*\n)+", before)
    heads = ("store", "runs", "seconds", "operations", "faults", "refused", "unknown", "partitions", "violations")
    yield _table((*heads, "too little contention", "commit"), *rows)
    yield from faults


def _real_row(lines: list[Line]) -> tuple[object, ...]:
    seconds, operations = sum(line["seconds"] for line in lines), _sum(lines, "operations")
    figures = (seconds, operations, _faults(lines).total(), *(_sum(lines, name) for name in _CONTENDED))
    broken = sum(len(line["violations"]) for line in lines)
    idle, made = sum(bool(line["lacking"]) for line in lines), _made(lines[-1])
    return (lines[-1]["store"], len(lines), *(f"{figure:,.0f}" for figure in figures), broken, idle, made)


_MERGED: Final = {
    "publications": ("published", "endings"),
    "merged": ("merged",),
    "late endings refused": ("late endings refused", "endings refused"),
    "block directories deleted": ("blocks deleted",),
    "reads": ("reads",),
}
"""Columns, and what actors call it."""
_BRANCHED: Final = {
    "publications": ("published",),
    "branches begun": ("branches begun",),
    "shown": ("branches published",),
    "rolled back": ("branches rolled back",),
    "hidden": ("hidden",),
    "head records emptied": ("head records emptied",),
    "refused by a branch": ("endings refused by a branch", "resets refused by a branch"),
    "reads": ("reads",),
}


_DONE: Final = {
    "publications": ("published",),
    "rules set": ("rules set",),
    "hidden by rules": ("partitions hidden by rules",),
    "emptied by duties": ("head records emptied by a duty",),
    "hidden by people": ("hidden",),
    "branches shown": ("branches published",),
    "reads": ("reads",),
}


def _merging(ledger: Ledger, before: str) -> Iterable[str]:
    yield MERGING
    yield _beside("merging", "groups on", _MERGED, ledger, before)


def _branching(ledger: Ledger, before: str) -> Iterable[str]:
    yield BRANCHING
    yield _beside("branching", "branches on", _BRANCHED, ledger, before)


def _duties(ledger: Ledger, before: str) -> Iterable[str]:
    yield DUTIES
    yield _beside("duties", "duties on", _DONE, ledger, before)


Columns = Mapping[str, Sequence[str]]


def _beside(kind: str, word: str, columns: Columns, ledger: Ledger, before: str) -> str:
    heads = (f"store of {word.removesuffix(' on')}", "operations", "faults", *columns, "violations", "commit")
    named = {store: list(ledger.lines(f"{kind} {store}")) for store in STORES[kind]}
    return _table(heads, *(_beside_row(f"{word} {store}", lines, columns, before) for store, lines in named.items()))


def _beside_row(named: str, lines: list[Line], columns: Columns, before: str) -> tuple[object, ...]:
    """Return the figures of all runs; those that stand on the page where this ledger has none."""
    if not lines:
        known = re.search(rf"^\| {re.escape(named)} \| (.*) \|$", before, re.MULTILINE)
        return (named, *(known[1].split(" | ") if known else ("not run yet", *[""] * (len(columns) + 3))))
    done = (sum(line["counts"].get(name, 0) for line in lines for name in names) for names in columns.values())
    figures = (_sum(lines, "operations"), _faults(lines).total(), *done)
    broken, made = sum(len(line["violations"]) for line in lines), _made(lines[-1])
    return (named, *(f"{figure:,}" for figure in figures), broken, made)


def _mutants(ledger: Ledger, before: str) -> Iterable[str]:
    yield _last(ledger, "mutants", MUTANTS, _of_mutants, before)


_NAMED_FIRST: Final = 12
"""How many of those that have caught most of the mutants have their names on the page."""


def _of_mutants(line: Line) -> str:
    by = Counter(name.partition(":")[0] for name in line["by"].values()).most_common()
    most = ", ".join(f"{name} {count}" for name, count in by[:_NAMED_FIRST])
    rest = f", {len(left)} others together {sum(count for _, count in left)}" if (left := by[_NAMED_FIRST:]) else ""
    otherwise = f"not as expected: {', '.join(line['wrong'])}; " if line["wrong"] else ""
    return (
        f"{line['caught']} of {line['mutants']} were caught (commit {line['code']}), "
        f"{line.get('equivalent', 0)} are known to be as good as the code; {otherwise}the slowest after "
        f"{line['slowest']:,} operations. What caught them: {most}{rest}."
    )


def _model(ledger: Ledger, before: str) -> Iterable[str]:
    yield _last(ledger, "model", MODEL, _of_the_model, before)


def _of_the_model(line: Line) -> str:
    return (
        f"{line['scenarios']} scenarios (commit {line['code']}): {line['states']:,} states, {line['edges']:,} steps, "
        f"{line['complete']} explored to their end within their bounds, the others for their share of the time; "
        f"{len(line['wrong'])} not as they should be."
    )


def _last(ledger: Ledger, part: str, section: str, told: Callable[[Line], str], before: str) -> str:
    """Return a section that ends with what the last run has told; as on the page where this ledger has none."""
    lines = list(ledger.lines(part))
    return f"{section}\n{told(lines[-1]) if lines else _as_it_stands(section, before)}\n"


def _as_it_stands(section: str, before: str) -> str:
    """Return the last paragraph that a section has on the page."""
    heading = section.strip().partition("\n")[0]
    stands = re.search(rf"^{re.escape(heading)}\n.*?(?=\n## |\Z)", before, re.MULTILINE | re.DOTALL)
    return stands[0].rstrip().rpartition("\n\n")[2] if stands else "Not run yet."


def _rest(ledger: Ledger, before: str) -> Iterable[str]:
    heads = ("tests", "CI tries", "passed", "failed", "minutes", "commit", "files")
    yield REST
    yield _table(heads, *(_rest_row(row, list(ledger.lines(f"rest {row.name}")), before) for row in ROWS))


def _rest_row(row: LeftOut, lines: list[Line], before: str) -> tuple[object, ...]:
    """Return the figures of the last run; those that stand on the page where this ledger has none."""
    if not lines:
        known = re.search(rf"^\| {re.escape(row.name)} \| [^|]* \| (.*) \|$", before, re.MULTILINE)
        return (row.name, row.tried, *(known[1].split(" | ") if known else ("not run yet", "", "", "", "")))
    line = lines[-1]
    minutes, made = f"{line['seconds'] / 60:.1f}", _made(line)
    return (row.name, row.tried, line["passed"], line["failed"], minutes, made, line["files"] and f"`{line['files']}`")


def _plain(ledger: Ledger, before: str) -> Iterable[str]:
    yield PLAIN
    rows = (_plain_row(module, list(ledger.lines(f"plain {module}")), before) for module in MODULES)
    yield _table(("module", "mutants", "caught", "by tests", "by mypy", "listed", "not listed", "commit"), *rows)


def _plain_row(module: str, lines: list[Line], before: str) -> tuple[object, ...]:
    """Return the figures of the last run; those that stand on the page where this ledger has none."""
    named = f"`leases/{module}.py`"
    if not lines:
        known = re.search(rf"^\| {re.escape(named)} \| (.*) \|$", before, re.MULTILINE)
        return (named, *(known[1].split(" | ") if known else ("not run yet", "", "", "", "", "", "")))
    line = lines[-1]
    caught, new = sum(line["by"].values()), len(line["wrong"])
    share, by_mypy = f"{caught} ({caught / line['mutants']:.1%})", line["by"].get("mypy", 0)
    listed, made = line["mutants"] - caught - new, _made(line)
    return (named, line["mutants"], share, caught - by_mypy, by_mypy, listed, new, made)


def _versions() -> Iterable[str]:
    libraries = ", ".join(f"{name} {version(name)}" for name in LIBRARIES)
    yield "\n## Versions\n\nEach figure names its commit. The machine that wrote them last has "
    yield f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}, {libraries}.\n"


ALONE: Final = {
    "branching": (_branching, "\n## While duties run"),
    "duties": (_duties, "\n## The checks themselves"),
    "merging": (_merging, "\n## While branches show"),
    "model": (_model, "\n## What CI tries in part"),
    "mutants": (_mutants, "\n## Plain modules"),
    "plain": (_plain, "\n## The model"),
    "processes": (_real, "\n## While groups merge"),
    "rest": (_rest, "\n## Versions"),
    "simulation": (_simulation, "\n## On real processes"),
}
"""The sections that can be written alone: how, and before which they belong."""
