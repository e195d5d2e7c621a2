"""The code of schema 1: a copy of the package that knows nothing of the limit that travels with the lease.

It neither reads nor writes the column or attribute, and each judge goes by its own setting, as version 0.1 does.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import airflow_coordination
from airflow_coordination.stores.sql.schema import OLDEST_USABLE, SCHEMA_VERSION

PREVIOUS = 1

_KNOWS_NO_LIMIT = {
    "leases/steps.py": {
        "    return own if partition.max_lost_leases is None else partition.max_lost_leases": "    return own",
        "        max_lost_leases=tenancy.max_lost_leases,\n": "",
    },
    "stores/sql/schema.py": {
        f"SCHEMA_VERSION: Final = {SCHEMA_VERSION}": f"SCHEMA_VERSION: Final = {PREVIOUS}",
        f"OLDEST_USABLE: Final = {OLDEST_USABLE}": f"OLDEST_USABLE: Final = {PREVIOUS}",
    },
    "leases/fields.py": {
        '    Field("max_lost_leases", Kind.NUMBER, "maxLostLeases", optional=True),\n': "",
    },
    "stores/sql/statements/endings.py": {
        '"coalesce(max_lost_leases, :max_lost)"': '":max_lost"',
    },
    "stores/sql/statements/acquire.py": {
        "max_lost_leases = :max_lost, partition_owner": "partition_owner",
    },
    "stores/sql/statements/create.py": {
        "max_lost_leases = NULL, last_error": "last_error",
    },
    "stores/dynamodb/layout.py": {
        f"SCHEMA_VERSION: Final = {SCHEMA_VERSION}": f"SCHEMA_VERSION: Final = {PREVIOUS}",
    },
    "stores/dynamodb/items.py": {
        '    "max_lost_leases": _Codec(\n'
        "        MAY_LOSE,\n"
        "        lambda p: None if p.max_lost_leases is None else p.max_lost_leases - 1,\n"
        "        lambda i: number(i, MAY_LOSE) + 1 if MAY_LOSE in i else None,\n"
        "    ),\n": "",
    },
    "stores/dynamodb/changes.py": {
        "        it.MAY_LOSE: tenancy.max_lost_leases - 1,\n": "",
        "    return Attr(it.LOST).lt(Attr(it.MAY_LOSE)) | by_own": "    return Attr(it.LOST).lt(own - 1)",
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
