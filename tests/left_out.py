"""What `make test` tries in part, or only where it could have changed; `make proof` and `make test-all` try all of it.

What a landing can break is tried with it. The rest costs more minutes than a landing may take, and shows what other
tests show already in short. ``conftest.py`` marks it ``long`` and says what it has left out, and why;
``python -m tests.proof --only rest`` runs each row whole and notes it on ``docs/reliability.md``.
"""

from __future__ import annotations

import fnmatch
import hashlib
import json
import os
import re
import subprocess
import tomllib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Final

from tests.mutants.due import changed_since, since

ROOT: Final = Path(__file__).parents[1]
PAGE: Final = ROOT / "docs" / "reliability.md"
TURN: Final = "COORDINATION_TEST_TURN"
"""Of this environment variable: the turn to try instead of the commit's. It is a digest that some commit could have, so
that what failed in a landing, or could in the next one, is tried as it is there; what has changed decides nothing."""
EVERY_TURN: Final = "all"


WHOLE: Final = 2
"""So many rows that go by parts are tried whole if what they try has changed: what a small landing touches."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Tests of which a landing tries a part.

    :param name: for people, and on the page.
    :param places: the files or folders that hold all of them.
    :param tried: what CI tries of it, in words.
    :param turns: of these each commit tries one: a name, and the pattern of the IDs of its tests.
    :param files: by the turns' names, patterns of the files that it tries: among those that have changed, if any has,
        a commit chooses its turn. So a change of one is tried on that one, and a change of all costs no more.
    :param parts: into so many parts its tests are dealt out by the digests of their IDs; each commit tries one. Where
        files of ``files`` have changed all are tried, but not in a landing that is one for more than ``WHOLE`` rows.
    :param unless: patterns of files. As long as they are as they were when the proof last ran, CI tries none of it.
    :param long: of its places what is marked so and no other row runs; CI never tries it.
    """

    name: str
    places: tuple[str, ...]
    tried: str
    turns: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    parts: int = 1
    unless: tuple[str, ...] = ()
    long: bool = False

    def runs(self, node: str, *, long: bool) -> bool:
        """Return whether the proof runs a test for this row.

        :param node: its ID.
        :param long: whether it is marked so.
        """
        if self.long:
            return long and not any(row.runs(node, long=long) for row in ROWS if not row.long)
        decides = self.turns or self.parts > 1 or self.unless
        return self.decides(node) if decides else node.startswith(_beginnings(self.places))

    def decides(self, node: str) -> bool:
        """Return whether it is for this row to say if CI tries a test, by its ID."""
        if not node.startswith(_beginnings(self.places)):
            return False
        of_a_turn = any(re.search(pattern, node) for pattern in self.turns.values())
        return of_a_turn or self.parts > 1 or bool(self.unless)

    def touched(self, changed: Collection[str]) -> list[str]:
        """Return the names of ``files`` of which one has changed."""
        return [name for name, patterns in self.files.items() if any(map(partial(fnmatch.filter, changed), patterns))]


@cache
def _beginnings(places: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"{place}{mark}" for place in places for mark in ("/", "::"))


_OUTSIDE: Final[Mapping[str, tuple[str, ...]]] = {
    "Kafka": ("tests/integration/kafka/test_kafka.py", "tests/integration/kafka/test_offsets.py"),
    "Kinesis": tuple(f"tests/integration/kinesis/test_{name}.py" for name in ("discovery", "engines", "reading")),
    "Kinesis handed over": tuple(f"tests/integration/kinesis/test_{name}.py" for name in ("kcl_takeover", "sharing")),
    "OpenSearch": (
        "tests/integration/engines/test_opensearch.py",
        "tests/integration/sinks/test_opensearch.py",
        "tests/integration/sinks/test_opensearch_faults.py",
    ),
}
_ASKS: Final = {
    "Kafka": "kafka/",
    "Kinesis": "kinesis/[!k]",
    "Kinesis handed over": "kinesis/kcl_",
    "OpenSearch": "opensearch/",
}
"""What each of them is asked by, below ``systems``."""
_ON_THE_INDEX: Final = ("tests/integration/spark_faults/test_zombie_sink.py", r"\[index\]")
"""A test of drivers of which one case asks OpenSearch; that of a table is always tried."""


def _files_of(*rooms: str) -> tuple[str, ...]:
    return tuple(f"airflow_coordination/{room}/*" for room in rooms)


_AIRFLOW: Final = "tests/integration/airflow/test_"
_DRIVERS: Final[Mapping[str, tuple[str, str]]] = {
    "three leases, killed": (f"{_AIRFLOW}worker_pool.py", "test_a_retry_of_a_killed_task"),
    "three leases, handed over": (f"{_AIRFLOW}worker_pool.py", "test_l11_a_task_that_finds"),
    "the package is sent": (f"{_AIRFLOW}store_from_elsewhere.py", "test_a_driver_that_gets_the_package"),
    "by configuration": (f"{_AIRFLOW}cluster_modes.py", "test_the_tenure_goes_by_configuration"),
    "no password": (f"{_AIRFLOW}secrets.py", "test_b4_a_drivers_jvm_event_log"),
    "a role": (f"{_AIRFLOW}amazon.py", "test_partitions_go_from_supplier_to_a_driver"),
}
_JOBS: Final = ("deliveries_job", "flights", "flights_job", "orders_job")
_KIT: Final = ("dynamodb", "in_memory", "postgresql", "sqlite")
_RULES: Final = "airflow_coordination/protocol/"
ROWS: Final = (
    LeftOut(
        "the model's search",
        (
            "tests/model/test_model.py",
            "tests/model/overlays/test_overlays.py",
            "tests/model/branches/test_branches.py",
        ),
        "where the rules or the model have changed",
        unless=(
            *(f"{_RULES}{name}.py" for name in ("algebra", "rules", "transitions")),
            "tests/model/**/*.py",
            "tests/model/**/*.txt",
        ),
    ),
    LeftOut(
        "the kit on the simulated DynamoDB",
        ("tests/simulation/dynamodb/test_conformance.py",),
        "where the engine has changed; random requests beside DynamoDB Local always",
        unless=("tests/simulation/dynamodb/*.py",),
    ),
    LeftOut(
        "what plain pip resolves",
        ("tests/house/test_resolving.py",),
        "where the requirements have changed",
        unless=("pyproject.toml",),
    ),
    LeftOut(
        "crash points",
        ("tests/integration/crash_points/test_crash_points.py",),
        "on one of four stores; after lost answers always",
        turns={name: rf"\[{name}-" for name in ("in_memory", "sqlite", "postgresql", "dynamodb")},
    ),
    LeftOut(
        "killed readers, executors and writers",
        (
            "tests/integration/kafka/test_kills.py",
            "tests/integration/kinesis/test_kills.py",
            "tests/integration/spark_faults/test_deliver.py",
            "tests/integration/spark_faults/test_executors.py",
            "tests/integration/spark_s3/test_killed.py",
        ),
        "one of five; drivers that are killed always",
        turns={
            "Kafka": r"/kafka/test_kills\.py",
            "Kinesis": r"/kinesis/test_kills\.py",
            "deliveries": r"/spark_faults/test_deliver\.py",
            "executors": r"/spark_faults/test_executors\.py",
            "S3": r"/spark_s3/test_killed\.py",
        },
    ),
    LeftOut(
        "walks through a whole Airflow",
        (
            "tests/system/demo",
            "tests/system/test_branches.py",
            "tests/system/test_compaction.py",
            "tests/system/test_drain.py",
            "tests/system/test_quickstart.py",
            "tests/system/test_tutorial.py",
            "tests/system/test_waking_up.py",
        ),
        "one of seven; kills and the README's always",
        turns={
            "branches": r"/test_branches\.py",
            "compaction": r"/test_compaction\.py",
            "the demo": r"test_demo\.py::test_the_published",
            "the drain": r"/test_drain\.py",
            "the quickstart": r"/test_quickstart\.py",
            "the tutorial": r"/test_tutorial\.py",
            "waking up": r"/test_waking_up\.py",
        },
    ),
    LeftOut(
        "random writes, store beside reference",
        ("tests/properties/test_stores_agree.py",),
        "on one of four stores",
        turns={
            name: rf"::test_s5_{name.replace('-', '_')}_does"
            for name in ("sqlite", "postgresql", "dynamodb", "dynamodb-local")
        },
    ),
    LeftOut(
        "pages that start Spark and engines",
        ("tests/docs/test_snippets.py",),
        "one of seven; the README and all other pages always",
        turns={
            name: rf"\[docs/{name}\.md\]"
            for name in (
                "how-to/deliver",
                "how-to/deliver-again",
                "how-to/files-to-a-table",
                "how-to/opensearch",
                "how-to/own-store",
                "how-to/then",
                "tutorial",
            )
        },
    ),
    LeftOut(
        "engines of streams and of an index",
        (*(file for files in _OUTSIDE.values() for file in files), _ON_THE_INDEX[0]),
        "one of four, of those that have changed if one has; with stand-ins always",
        turns={name: f"^({'|'.join(files)})::" for name, files in _OUTSIDE.items()}
        | {"OpenSearch": f"^({'|'.join(_OUTSIDE['OpenSearch'])})::|^{_ON_THE_INDEX[0]}::.*{_ON_THE_INDEX[1]}"},
        files={name: (f"airflow_coordination/systems/{_ASKS[name]}*", *files) for name, files in _OUTSIDE.items()},
    ),
    LeftOut(
        "sixteen writers at once, in the kit",
        tuple(f"tests/conformance/test_{name}.py" for name in _KIT),
        "on one of four stores; two at once as the rest of the kit",
        turns={name: rf"/test_{name}\.py::.*\[16\]" for name in _KIT},
    ),
    LeftOut(
        "faults on real processes",
        (
            *(f"tests/processes/test_{name}.py" for name in ("dynamodb", "postgresql", "sqlite")),
            "tests/branching/test_postgresql.py",
            "tests/merging/test_postgresql.py",
        ),
        "one of five: leases on each of three stores, overlays, branches; for 15 seconds",
        turns={
            **{name: rf"processes/test_{name}\.py" for name in ("dynamodb", "postgresql", "sqlite")},
            "branches": r"branching/test_postgresql\.py",
            "overlays": r"merging/test_postgresql\.py",
        },
    ),
    LeftOut(
        "real drivers of tasks of Airflow",
        tuple(place for place, _ in _DRIVERS.values()),
        "one of six; with stand-ins for spark-submit always",
        turns={name: f"/{place.rpartition('/')[2]}::{test}" for name, (place, test) in _DRIVERS.items()},
    ),
    LeftOut(
        "the example jobs on Spark",
        tuple(f"tests/integration/dags/test_{name}.py" for name in _JOBS),
        "one of four, of those that have changed if one has",
        turns={name: rf"/test_{name}\.py" for name in _JOBS},
        files={name: (f"dags/{name}.py", f"tests/integration/dags/test_{name}.py") for name in _JOBS},
    ),
    LeftOut(
        "families that race",
        ("tests/integration/families/test_forest.py", "tests/integration/families/test_races.py"),
        "on one of three stores",
        turns={
            "dynamodb": r"\[60-dynamodb\]|without_the_condition_on_parents",
            "postgresql": r"\[postgresql-|\[60-postgresql\]",
            "sqlite": r"\[sqlite-|without_the_lock_on_parents",
        },
    ),
    LeftOut(
        "children left to sweeps",
        ("tests/integration/families/test_crossing.py",),
        "one of three",
        turns={
            "more than a transaction takes": "::test_s20_what_a_transaction_does_not_take_a_sweep_finds",
            "after a reset": "::test_s19_who_is_created_after_a_reset_is_not_released",
            "by a sweep that goes on": "::test_s19_nor_by_a_sweep_that_goes_on",
        },
    ),
    LeftOut(
        "random schedules on DynamoDB Local",
        ("tests/integration/dynamodb/test_schedules.py",),
        "two seeds of eight",
        turns={f"seeds {first} and {first + 4}": rf"\[[{first}{first + 4}]\]" for first in range(4)},
    ),
    LeftOut(
        "a death at every request, and at every step of a follow-up",
        (
            "tests/integration/dynamodb/test_faults.py",
            "tests/integration/follow_ups/test_killed.py",
            "tests/integration/crash_points/test_crash_points.py",
            "tests/integration/sqs",
            "tests/properties/test_kinesis_supplier.py",
        ),
        "one of seven",
        turns={
            "before a request": r"::test_l1_a_process_killed_at_any_request.*\[CRASH_BEFORE\]",
            "after a request": r"::test_l1_a_process_killed_at_any_request.*\[CRASH_AFTER\]",
            "follow-ups of files": r"::test_s27_killed_at_every_point.*\[files\]",
            "follow-ups on S3": r"::test_s27_killed_at_every_point.*\[S3\]",
            "four actions on DynamoDB Local": "::test_l1_killed_at_any_request_to_the_vendors_own_engine",
            "suppliers with messages": "::test_s11_a_supplier_killed_at_any_call_loses_no_message",
            "suppliers with streams": "::test_s11_s19_streams_are_resharded_while_suppliers_are_killed",
        },
    ),
    LeftOut(
        "two versions at work on one store",
        ("tests/integration/upgrade/test_rolling_upgrade.py",),
        "on one of three stores",
        turns={name: rf"\[{name}_url\]" for name in ("dynamodb", "postgres", "sqlite")},
    ),
    LeftOut(
        "the kit on PostgreSQL and DynamoDB Local",
        ("tests/conformance/test_dynamodb.py", "tests/conformance/test_postgresql.py"),
        "a sixth of it on each; in memory and on SQLite all of it",
        parts=6,
        files={"all": ("airflow_coordination/stores/*", "airflow_coordination/testing/conformance/*")},
    ),
    LeftOut(
        "Spark",
        tuple(f"tests/integration/{name}" for name in ("spark", "spark_connect", "spark_s3")),
        "a sixth of the tests",
        parts=6,
        files={"all": _files_of("delivery", "outputs", "spark", "systems/spark")},
    ),
    LeftOut(
        "tasks in an Airflow",
        ("tests/integration/airflow",),
        "a sixth of the tests",
        parts=6,
        files={"all": _files_of("decorators", "hooks", "operators", "sensors", "submission", "triggers")},
    ),
    LeftOut(
        "the board's API",
        ("tests/integration/board",),
        "a sixth of the tests",
        parts=6,
        files={"all": _files_of("board", "monitoring")},
    ),
    LeftOut(
        "the board in a browser",
        ("tests/browser",),
        "a sixth of the tests, with 25,800 partitions of a million",
        parts=6,
        files={"all": _files_of("board")},
    ),
    LeftOut(
        "what only DynamoDB is asked",
        ("tests/integration/dynamodb",),
        "a sixth of the tests",
        parts=6,
        files={"all": _files_of("stores/dynamodb")},
    ),
    LeftOut(
        "what only SQL is asked",
        ("tests/integration/stores", "tests/integration/upgrade"),
        "a sixth of the tests",
        parts=6,
        files={"all": _files_of("stores/sql")},
    ),
    LeftOut(
        "long lists of objects",
        (
            "tests/integration/follow_ups/test_many.py",
            "tests/integration/follow_ups/test_s3.py",
            "tests/integration/sources/test_million_objects.py",
        ),
        "a tenth: ten thousand files in a note, two requests to S3 of a hundred, a listing of a hundred thousand",
    ),
    LeftOut(
        "rules of branches, each left out of a run",
        ("tests/branching/test_virtual.py",),
        "one of five; a run with all of them always",
        turns={
            name: rf"sees_that_it_is_missing\[{name}\]" for name in ("token", "locked", "same", "all", "rolled back")
        },
    ),
    LeftOut(
        "rules of overlays, each left out of a run",
        ("tests/merging/test_virtual.py",),
        "one of three; a run with all of them always",
        turns={name: rf"sees_that_it_is_missing\[{name}\]" for name in ("walk", "filter", "stop")},
    ),
    LeftOut(
        "overlays and branches in virtual time",
        ("tests/merging/test_virtual.py", "tests/branching/test_virtual.py"),
        "on one of three stores; that a seed is a run always",
        turns={name: rf"::test_s12_s2[12]_readers_find.*\[{name}\]" for name in ("dynamodb", "in_memory", "sqlite")},
    ),
    LeftOut(
        "runs in virtual time",
        ("tests/simulation/test_simulation.py",),
        "on one of three stores; that a seed is a run always",
        turns={
            name: rf"::test_s5_every_history_is_linearizable.*\[{name}\]"
            for name in ("dynamodb", "in_memory", "sqlite")
        },
    ),
    LeftOut(
        "cases of Druid, each expectation changed",
        ("tests/unit/testing/druid/test_druid_cases.py",),
        "those of one of three groups; each case as it is always",
        turns={
            "decisions": r"is_no_longer_as_expected\[D",
            "copies and balance": r"is_no_longer_as_expected\[[BFG]",
            "all others": r"is_no_longer_as_expected\[[^BDFG]",
        },
    ),
    LeftOut("a million partitions through an Airflow", ("tests/system/test_million.py",), "none of it"),
    LeftOut("kills of a task in Airflow", ("tests/system/test_kills.py",), "four of fifteen"),
    LeftOut("what takes long elsewhere", ("tests",), "none of it; of most a shorter form", long=True),
)


@dataclass(frozen=True, slots=True)
class Choice:
    """What a commit tries of one row.

    :param out: the patterns of the IDs of what it leaves out.
    :param said: what it tries and why, in words; empty where the row's own words say it.
    :param part: the number of the part that it tries, and of how many.
    """

    out: tuple[str, ...] = ()
    said: str = ""
    part: tuple[int, int] = (0, 1)

    def leaves_out(self, node: str) -> bool:
        """Return whether a test is left out, by its ID."""
        number, parts = self.part
        in_part = parts == 1 or _dealt(node, parts) == number
        return not in_part or any(re.search(pattern, node) for pattern in self.out)


class Choices:
    """What this commit tries of each row.

    :param commit: its digest in hexadecimal, ``None`` where nothing tells: then nothing is left out in turn.
    :param seen: by the rows' names, the digests of their files when the proof last ran.
    :param changed: the files that have changed since it left ``main``, as far as that is known.
    """

    def __init__(self, commit: str | None, seen: Mapping[str, str], changed: Collection[str] = ()) -> None:
        touched = {row.name for row in ROWS if row.parts > 1 and row.touched(changed)}
        whole = touched if len(touched) <= WHOLE else set[str]()
        self._of = {
            row.name: _part(row, commit, whole=row.name in whole)
            if row.parts > 1
            else _choice(row, commit, seen.get(row.name), changed)
            for row in ROWS
        }

    def leaves_out(self, node: str) -> bool:
        """Return whether a test is left out, by its ID. The first row that decides about it does so alone."""
        row = next((row for row in ROWS if row.decides(node)), None)
        return row is not None and self._of[row.name].leaves_out(node)

    def __iter__(self) -> Iterator[str]:
        """Yield a line for each row of which this commit decides something."""
        return (f"{name}: {choice.said}" for name, choice in self._of.items() if choice.said)


def choices() -> Choices:
    """Return what the commit that is checked out tries, or what ``COORDINATION_TEST_TURN`` asks for.

    :raises ValueError: if that is neither a digest nor ``all``.
    """
    if (asked := os.environ.get(TURN)) is not None:
        return Choices(_asked(asked), last_seen(PAGE.read_text()))
    base, _ = since(ROOT)
    return Choices(_commit(), last_seen(PAGE.read_text()), changed_since(base, ROOT) if base else ())


def row_of(name: str) -> LeftOut:
    """Return a row by its name."""
    return next(row for row in ROWS if row.name == name)


def digest_of(row: LeftOut) -> str:
    """Return the digest of the files that a row asks about, of their names and what is in them; empty for none."""
    files = sorted({path for pattern in row.unless for path in ROOT.glob(pattern)})
    return digest_of_files(files, _asked_about) if files else ""


def digest_of_files(files: Iterable[Path], read: Callable[[Path], bytes] = Path.read_bytes) -> str:
    """Return the digest of files of this repository in this order, of their names and what is read of them."""
    whole = hashlib.sha256()
    for path in files:
        whole.update(f"{path.relative_to(ROOT)} {hashlib.sha256(read(path)).hexdigest()}\n".encode())
    return whole.hexdigest()[:12]


def _asked_about(path: Path) -> bytes:
    """Return what is in a file; of the package's description what it requires, which is all that a resolver reads."""
    if path.name != "pyproject.toml":
        return path.read_bytes()
    said = tomllib.loads(path.read_text()).get("project", {})
    names = ("dependencies", "optional-dependencies", "requires-python")
    return json.dumps([said.get(name) for name in names]).encode()


def last_seen(page: str) -> dict[str, str]:
    """Return the digest that the page has for each row, if the proof has run it and nothing was wrong."""
    row = r"^\| ([^|]+) \| [^|]+ \| [1-9]\d* \| 0 \|[^|]+\|[^|]+\| `([0-9a-f]{12})` \|$"
    return dict(re.findall(row, page, re.MULTILINE))


def _choice(row: LeftOut, commit: str | None, seen: str | None, changed: Collection[str]) -> Choice:
    if row.unless:
        if seen == (now := digest_of(row)):
            return Choice((r"",), f"not tried: its files are those that make proof saw last ({now})")
        return Choice((), f"tried: its files are not those that make proof saw last ({now})")
    if not row.turns or commit is None:
        return Choice()
    touched = row.touched(changed)
    among = touched or list(row.turns)
    chosen = among[_dealt(f"{commit} {row.name}", len(among))]
    out = tuple(pattern for name, pattern in row.turns.items() if name != chosen)
    of = f", of {len(touched)} that have changed" if touched else ""
    return Choice(out, f"{chosen}, whose turn it is on commit {commit[:9]}{of}")


def _part(row: LeftOut, commit: str | None, *, whole: bool) -> Choice:
    if whole or commit is None:
        return Choice(said="all, for what it tries has changed" if whole else "")
    number = _dealt(f"{commit} {row.name}", row.parts)
    return Choice(said=f"part {number + 1} of {row.parts} on commit {commit[:9]}", part=(number, row.parts))


def _dealt(text: str, among: int) -> int:
    """Return a number below ``among`` that is the same on every machine."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8]) % among


def _asked(turn: str) -> str | None:
    if turn == EVERY_TURN:
        return None
    if not re.fullmatch("[0-9a-f]{1,40}", turn):
        raise ValueError(f"{TURN} is {turn!r}: give a commit's digest, up to 40 of 0-9a-f, or {EVERY_TURN!r}")
    return turn


def _commit() -> str | None:
    command = ("git", "-c", "safe.directory=*", "rev-parse", "HEAD")
    try:
        said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    except OSError:
        return None
    return said.stdout.strip() if said.returncode == 0 else None
