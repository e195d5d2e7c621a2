"""The promises, each in one line, and the tests that are named after them.

A test proves a promise if its name begins with the promise's: ``test_s6_a_lost_answer_is_settled``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KIT = "airflow_coordination/testing/conformance"
"""The tests that every store takes."""

PROMISES = {
    "S1": "A fence is never given twice.",
    "S2": "An owner's write succeeds only under the current fence. Otherwise `PartitionNotOwnedError`, and nothing"
    " changes.",
    "S3": "COMPLETED is final until a person resets or deletes. At most one accepted completion per life.",
    "S4": "An acknowledged write survives a kill of any process and an immediate restart of the database.",
    "S5": "Each partition's history is linearizable against the table of the protocol.",
    "S6": "A lost answer is settled: reported ok if and only if it was applied.",
    "S7": "`closedCount` is the number of applied closes. COMPLETED exactly when it reaches the maximum.",
    "S8": "No acquire before the available time, `reOpenAt` or the lease's end, by the store's clock.",
    "S9": "Crashed partitions go first, then reopened, then new ones, and no class starves.",
    "S10": "Global-state saves of a stale supplier are refused. Creating twice is harmless.",
    "S11": "A supplier killed at any store call: after recovery the partitions are those of an uninterrupted run.",
    "S12": "A reader sees exactly the files named by accepted writes, each once.",
    "S13": "An acknowledgment says yes only if committed work has delivered or dropped every event.",
    "S14": "Progress is never wiped in silence: what cannot be stored or read is a specific error, and the last good"
    " value stays.",
    "S15": "Composed keys are injective; a key is 1 to 2,048 bytes of UTF-8 without NUL.",
    "S16": "The store records its schema. Code that is too old or too new refuses to start and says what to do;"
    " neighbours work together.",
    "S17": "`in_memory` is for one process, and refuses where it is shared.",
    "S18": "Two hosts that believe they share a store really do: every store has an id, and hints and hand-overs carry"
    " it.",
    "S19": "No child is acquired before each parent that was unfinished at its creation has finished once.",
    "S20": "No child waits for parents that have finished, beyond the next sweep; none where all run this version.",
    "S21": "An overlay changes no reader's rows, whatever publishes, pauses or repeats meanwhile.",
    "S22": "A reader sees for each partition the last accepted publication that counts; a branch shows and goes whole.",
    "S23": "Nothing that a reader, a restore or a roll back can still show is deleted before its margins, by the"
    " store's clock.",
    "S24": "Ingest and reading go on when no duty ever runs.",
    "S25": "A leader of duties that wakes up late changes nothing that the new one would not allow.",
    "S26": "The accounting counts what accepted saves and endings stand for, each record once, and nothing else.",
    "S27": "What follows an ending (`then=`) or a parking (`on_parked`) is done at least once, and never without it.",
    "S28": "A healthy lease is stolen only by who has asked for that very tenure, and after the time that it gave.",
    "S29": "A payload is replaced only between a reset and the next acquisition: nobody works on another than its own.",
    "L1": "When faults stop, every partition ends completed or parked; nothing is stuck.",
    "L2": "A vanished owner's lease is reclaimed within lease + sweep + 5 seconds; a clean end frees it within 5"
    " seconds; a retry of the task takes over at once, and so does a drain where a process of its machine is gone.",
    "L3": "Due work is acquired within sweep + 5 seconds.",
    "L4": "A dead supplier is replaced when its lease is over.",
    "L5": "A poison partition is parked after its maximum; the others lose less than 5 % of their throughput.",
    "L6": "After an outage of the store work goes on at full speed within 30 seconds. An outage is an error, never “no"
    " work”.",
    "L7": "A worker that loses its lease cancels its Spark jobs, and stops by its own clock when it cannot learn it.",
    "L8": "Work without progress is not kept alive.",
    "L9": "Two triggerers or schedulers that run the same sensor do no harm.",
    "L10": "Workers that share a source hold as many leases each, give or take one, within 20 looks; no move makes it"
    " less even.",
    "L11": "A lease that another worker wants is handed over at the next save of a function that heeds it, or taken"
    " after the time that was given.",
    "X4": "No secret in arguments, task log, rendered templates, XCom, Spark UI or exceptions.",
    "X5": "Partition keys never become paths, SQL, Jinja or shell as they are.",
    "X6": "JSON only, with limits of size and depth.",
    "X7": "The policies for AWS are enough, and every action in them is needed.",
    "X9": "Limits are checked before the call, and named in the error.",
    "X10": "The rights that the documentation gives in PostgreSQL are enough.",
    "X11": "Where a store keeps a history, each tenure has one row in it, written in the commit that ends the tenure.",
    "X12": "While a source is paused nothing of it is newly acquired, on DynamoDB after 30 seconds; owners finish,"
    " sweeps go on.",
    "X13": "A source in which `brake_after` partitions fail one after the other of one error, without a success between"
    " them, pauses itself; nothing is counted twice, or from before a success, a pause or a resumption.",
}
"""``docs/explanation/protocol.md`` explains them; the numbers that are missing belong to what is not built yet."""

PARTLY = {"S13": "(It holds for what goes through `lease.deliver`. What a source does afterwards is S27.)"}
"""Where a promise ends."""

_TEST = re.compile(r"^ *(?:async )?def (test_((?:[slx]\d+_)+)\w*)\(", re.M)


def named_after() -> Iterator[tuple[str, Path, str]]:
    """Yield promise, file and name of every test that is named after a promise."""
    for file in sorted([*(ROOT / "tests").rglob("test_*.py"), *(ROOT / KIT).glob("*.py")]):
        for test, promises in _TEST.findall(file.read_text()):
            yield from ((promise.upper(), file, test) for promise in promises.strip("_").split("_"))


def proofs() -> dict[str, dict[Path, list[str]]]:
    """Return the tests of each promise, by file."""
    found: dict[str, dict[Path, list[str]]] = {}
    for promise, file, test in named_after():
        found.setdefault(promise, {}).setdefault(file, []).append(test)
    return found
