"""The code of the next schema: a copy of the package in which a partition has a field more.

A rule writes it with every save, so that it works with its own schema only (``OLDEST_USABLE``); and the code of today,
which knows nothing of it, may go on (``READABLE_BY``). What is changed here is all that such a field takes.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import airflow_coordination
from airflow_coordination.stores.sql.schema import OLDEST_USABLE, SCHEMA_VERSION

NEXT = SCHEMA_VERSION + 1
FIELD = "saved_op"
"""The operation that has saved last."""

_REVISIONS = Path("stores/sql/migrations/versions")
_NEWEST = max(path.name for path in (Path(airflow_coordination.__file__).parent / _REVISIONS).glob("0*.py"))[:4]
_REVISION = f"{int(_NEWEST) + 1:04}"
_MIGRATION = f'''
"""A column for the operation that has saved last."""

import sqlalchemy as sa
from alembic import op

revision = "{_REVISION}"
down_revision = "{_NEWEST}"


def upgrade() -> None:
    op.add_column("coordination_partitions", sa.Column("{FIELD}", sa.Text))
'''
_STAGED = '    Field("staged", Kind.BLOCKS, "staged", optional=True),\n'
_CHANGES = {
    "protocol/fields.py": {
        _STAGED: f'{_STAGED}    Field("{FIELD}", Kind.TEXT, "savedOp", optional=True),\n',
    },
    "protocol/partition.py": {
        "    ring: tuple[str | None, ...] =": f"    {FIELD}: str | None = None\n    ring: tuple[str | None, ...] =",
    },
    "protocol/rules.py": {
        '"staged": w.staged, **': f'"staged": w.staged, "{FIELD}": w.op, **',
    },
    "stores/sql/schema.py": {
        f"SCHEMA_VERSION: Final = {SCHEMA_VERSION}": f"SCHEMA_VERSION: Final = {NEXT}",
        f"OLDEST_USABLE: Final = {OLDEST_USABLE}": f"OLDEST_USABLE: Final = {NEXT}",
        "READABLE_BY: Final = 1": f"READABLE_BY: Final = {SCHEMA_VERSION}",
    },
    "stores/dynamodb/setup/table.py": {
        f"SCHEMA_VERSION: Final = {SCHEMA_VERSION}": f"SCHEMA_VERSION: Final = {NEXT}",
        "OLDEST_USABLE: Final = 1": f"OLDEST_USABLE: Final = {NEXT}",
        "READABLE_BY: Final = 1": f"READABLE_BY: Final = {SCHEMA_VERSION}",
    },
}


_NEW_FILE = _REVISIONS / f"{_REVISION}_saved_op.py"
TOUCHED = (*_CHANGES, str(_NEW_FILE))
"""The files that a field more takes."""


def next_version(directory: Path) -> Path:
    """Write the package as it could be next into ``directory``, and return what goes into ``PYTHONPATH``."""
    package = directory / "airflow_coordination"
    ours = Path(airflow_coordination.__file__).parent
    shutil.copytree(ours, package, ignore=shutil.ignore_patterns("__pycache__"))
    for name, changes in _CHANGES.items():
        text = (package / name).read_text()
        for old, new in changes.items():
            assert text.count(old) == 1, f"{name} has {old!r} {text.count(old)} times"
            text = text.replace(old, new)
        (package / name).write_text(text)
    (package / _NEW_FILE).write_text(_MIGRATION)
    return directory
