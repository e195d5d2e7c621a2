"""Parents and children.

Older code goes on beside this one: it makes no children, and takes none that waits, because such a row is in no queue;
the check refuses it even where it tries. What it completes releases nobody: the sweeps of newer code do.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from airflow_coordination.stores.sql.indexes import FAMILIES, creation
from airflow_coordination.stores.sql.migrations.tables import give_rights_like_partitions, text_in_byte_order

revision = "0008"
down_revision = "0007"

_BLOCKED = "waits_for IS NULL OR (ready IS NULL AND timed IS NULL AND source_partition_status <> 'ASSIGNED')"
_TABLE = "coordination_partitions"


def upgrade() -> None:
    op.add_column(_TABLE, sa.Column("parents", sa.Text))
    op.add_column(_TABLE, sa.Column("awaited_op", sa.Text))
    if op.get_bind().dialect.name == "postgresql":
        op.add_column(_TABLE, sa.Column("waits_for", sa.Text))
        # Rows that are there wait for nobody, so none of them need be looked at while writers wait.
        op.execute(f"ALTER TABLE {_TABLE} ADD CONSTRAINT {_TABLE}_blocked_is_idle CHECK ({_BLOCKED}) NOT VALID")
    else:  # SQLite takes a check with a column, and in no other way
        op.execute(f"ALTER TABLE {_TABLE} ADD COLUMN waits_for TEXT CHECK ({_BLOCKED})")
        for index in FAMILIES:  # on PostgreSQL they are built afterwards, beside the writers (``schema.py``)
            op.execute(creation(index))
    op.create_table(
        "coordination_children",
        sa.Column("source_identifier", text_in_byte_order(), primary_key=True),
        sa.Column("parent_key", text_in_byte_order(), primary_key=True),
        # Two keys of 2,048 bytes are more than a row of PostgreSQL's indexes holds.
        sa.Column("child_hash", text_in_byte_order(), primary_key=True),
        sa.Column("child_key", text_in_byte_order(), nullable=False),
    )
    give_rights_like_partitions("coordination_children")
