"""The code of the next schema: a copy of the package in which the store has a column, or an attribute, more.

It writes that column with every save, so that it works with its own schema only (``OLDEST_USABLE``); and the code of
today, which knows nothing of it, may go on (``READABLE_BY``).
"""

from __future__ import annotations

import shutil
from pathlib import Path

import airflow_coordination
from airflow_coordination.stores.sql.schema import OLDEST_USABLE, SCHEMA_VERSION

NEXT = SCHEMA_VERSION + 1
NOTE = "note"
WRITTEN = f"by schema {NEXT}"

_REVISIONS = Path("stores/sql/migrations/versions")
_NEWEST = max(path.name for path in (Path(airflow_coordination.__file__).parent / _REVISIONS).glob("0*.py"))[:4]
_REVISION = f"{int(_NEWEST) + 1:04}"
_MIGRATION = f'''
"""A column for a note."""

import sqlalchemy as sa
from alembic import op

revision = "{_REVISION}"
down_revision = "{_NEWEST}"


def upgrade() -> None:
    op.add_column("coordination_partitions", sa.Column("{NOTE}", sa.Text))
'''
_CHANGES = {
    "stores/sql/schema.py": {
        f"SCHEMA_VERSION: Final = {SCHEMA_VERSION}": f"SCHEMA_VERSION: Final = {NEXT}",
        f"OLDEST_USABLE: Final = {OLDEST_USABLE}": f"OLDEST_USABLE: Final = {NEXT}",
        "READABLE_BY: Final = 1": f"READABLE_BY: Final = {SCHEMA_VERSION}",
    },
    "stores/sql/statements/owner.py": {
        "partition_progress_state = :progress, staged": f"{NOTE} = '{WRITTEN}', partition_progress_state = :progress,"
        " staged"
    },
    "stores/dynamodb/layout.py": {
        f"SCHEMA_VERSION: Final = {SCHEMA_VERSION}": f"SCHEMA_VERSION: Final = {NEXT}",
        "OLDEST_USABLE: Final = 1": f"OLDEST_USABLE: Final = {NEXT}",
        "READABLE_BY: Final = 1": f"READABLE_BY: Final = {SCHEMA_VERSION}",
    },
    "stores/dynamodb/changes.py": {
        "sets = {it.LAST_OP: write.op, it.UPDATED": f'sets = {{"{NOTE}": "{WRITTEN}", it.LAST_OP: write.op, it.UPDATED'
    },
}


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
    (package / _REVISIONS / f"{_REVISION}_note.py").write_text(_MIGRATION)
    return directory
