"""The code of schema 1: a copy of the package that knows nothing of the limit that travels with the lease.

It keeps no history either, asks for no pause, counts no failures, and knows no parents: what it completes releases
nobody. It neither reads nor writes the columns or attributes, and each judge goes by its own setting, as version 0.1
does.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import airflow_coordination
from airflow_coordination.stores.dynamodb.table import MADE_READABLE_BY
from airflow_coordination.stores.sql.schema import OLDEST_USABLE, SCHEMA_VERSION

PREVIOUS = 1

_KNOWS_NO_LIMIT = {
    "leases/rules.py": {
        '            "max_lost_leases": tenancy.max_lost_leases,\n'
        '            "max_failures": tenancy.max_failures,\n': "",
        '            "acquired_at": now,\n            "owner_details": tenancy.owner_details,\n': "",
        ', "owner_details": w.owner_details}': "}",
    },
    "leases/fence.py": {
        " and other.place.airflow in (None, self.place.airflow)": "",
    },
    "leases/rule.py": {
        '        "acquired_at": None,\n        "owner_details": None,\n': "",
    },
    "leases/records.py": {
        "        yield from of_result(w)\n": "",
    },
    "leases/coordinator.py": {
        "            self._brake()\n": "            pass\n",
    },
    "leases/algebra.py": {
        "(own if limit is None else limit)": "own",
    },
    "stores/sql/schema.py": {
        f"SCHEMA_VERSION: Final = {SCHEMA_VERSION}": f"SCHEMA_VERSION: Final = {PREVIOUS}",
        f"OLDEST_USABLE: Final = {OLDEST_USABLE}": f"OLDEST_USABLE: Final = {PREVIOUS}",
        "build_beside_writers(connection, FAMILIES)": "pass",
    },
    "leases/fields.py": {
        '    Field("max_lost_leases", Kind.NUMBER, "maxLostLeases", optional=True),\n'
        '    Field("max_failures", Kind.NUMBER, "maxFailures", optional=True),\n'
        '    Field("acquired_at", Kind.TIME, "acquiredAt", optional=True),\n'
        '    Field("owner_details", Kind.TEXT, "ownerDetails", optional=True),\n'
        '    Field("accounting_text", Kind.TEXT, "accounting", optional=True),\n'
        '    Field("parents", Kind.KEYS, "parents", optional=True),\n'
        '    Field("waits_for", Kind.KEYS, "waitsFor", optional=True),\n'
        '    Field("awaited_op", Kind.TEXT, "awaitedOp", optional=True),\n'
        '    Field("wanted_by", Kind.TEXT, "wantedBy", optional=True),\n'
        '    Field("wanted_token", Kind.NUMBER, "wantedToken", optional=True),\n'
        '    Field("wanted_until", Kind.TIME, "wantedUntil", optional=True),\n': "",
        '    Field("accounting_text", Kind.TEXT, "accounting", optional=True),\n    Field("published_at"': (
            '    Field("published_at"'
        ),
    },
    "stores/sql/statements/owner.py": {
        "CASE WHEN {ROW.wanted_token} = {ROW.token} THEN {ROW.wanted_by} END": "NULL",
    },
    "stores/sql/statements/records.py": {
        ",\n        accounting = NULL": "",
    },
    "stores/sql/statements/words.py": {
        'return f"{count} + 1 < coalesce({limit}, {own})"': 'return f"{count} + 1 < {own}"',
        "{field.name: field.column for field in PARTITION_FIELDS}, owner_task": (
            '{field.name: field.column for field in PARTITION_FIELDS}, max_lost_leases="", acquired_at="", '
            'owner_details="", parents="", waits_for="", awaited_op="", owner_task'
        ),
    },
    "stores/sql/statements/step.py": {
        '        guard = f"{guard} AND {NOT_PAUSED}"\n': "        pass\n",
        '"{ROW.awaited_op} IS NULL"': '"1 = 1"',
    },
    "leases/people_rules.py": {
        '{"awaited_op": None}': "{}",
        '    "parents": (),\n    "waits_for": (),\n': "",
        "x.when(x.without(p.waits_for), now, None)": "now",
        "return x.both(as_seen, nobody_new)": "return as_seen",
    },
    "stores/sql/statements/read.py": {
        """{_count(f"AND {BLOCKED} AND source_partition_status = 'UNASSIGNED'")} AS blocked""": "0 AS blocked",
    },
    "stores/sql/statements/create.py": {
        ", parents = NULL, waits_for = NULL": "",
        " OR p.parents {other} given.parents": "",
    },
    "stores/sql/store.py": {
        "self._release_stragglers(write)\n        self": "0\n        self",
    },
    "stores/sql/database.py": {
        "retention_of(url.query.get(OPTION))": "None",
    },
    "stores/dynamodb/table.py": {
        f"SCHEMA_VERSION: Final = {SCHEMA_VERSION}": f"SCHEMA_VERSION: Final = {PREVIOUS}",
        f"MADE_READABLE_BY: Final = {MADE_READABLE_BY}": f"MADE_READABLE_BY: Final = {PREVIOUS}",
    },
    "stores/dynamodb/store.py": {
        "        self._failures.before(write)\n": "",
        "            self._failures.after(write)\n": "",
    },
    "stores/dynamodb/items.py": {
        "(READABLE_KEY, TOKEN, NONCE, CLOSED_COUNT": "(READABLE_KEY, TOKEN, NONCE, LAST_OP, CLOSED_COUNT",
        '    "max_lost_leases": _Codec(\n'
        "        MAY_LOSE,\n"
        "        lambda limit: None if limit is None else limit - 1,\n"
        "        lambda i: number(i, MAY_LOSE) + 1 if MAY_LOSE in i else None,\n"
        "    ),\n": "",
    },
    "stores/dynamodb/words.py": {
        '| {"owner_try": Path(it.TRY)}': '| {"owner_try": Path(it.TRY), "max_lost_leases": None}',
        "return Attr(count.name).lt(Attr(limit.name)) | by_own": "return Attr(count.name).lt(own - 1)",
        "Attr(limit.name).not_exists() & ": "",
    },
    "stores/dynamodb/owning.py": {
        "Change(change.sets, change.condition & NOT_AWAITED) if write.completes else change": "change",
    },
    "stores/dynamodb/sweeping.py": {
        "self._stragglers.release(source)": "0",
    },
    "stores/dynamodb/looking.py": {
        "blocked=self._queue.blocked(call, source, LOOK)": "blocked=0",
    },
}


def previous_version(directory: Path) -> Path:
    """Write the package as it was into ``directory``, and return what goes into ``PYTHONPATH``."""
    package = directory / "airflow_coordination"
    ours = Path(airflow_coordination.__file__).parent
    shutil.copytree(ours, package, ignore=shutil.ignore_patterns("__pycache__"))
    for name, changes in _KNOWS_NO_LIMIT.items():
        text = (package / name).read_text()
        for old, new in changes.items():
            assert text.count(old) == 1, f"{name} has {old!r} {text.count(old)} times"
            text = text.replace(old, new)
        (package / name).write_text(text)
    versions = package / "stores/sql/migrations/versions"
    for revision in versions.glob("0*.py"):
        if not revision.name.startswith(f"{PREVIOUS:04}"):
            revision.unlink()
    return directory
