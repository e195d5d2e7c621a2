"""How many tenures of a source ended in each five minutes, for charts. Older code neither writes nor reads any."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from airflow_coordination.stores.sql.migrations.tables import give_rights_like_partitions, text_in_byte_order

revision = "0018"
down_revision = "0017"

_NUMBERS = ("counted_to", "completed", "failed", "lost", "row_count", "byte_count")


def upgrade() -> None:
    op.create_table(
        "coordination_ended",
        sa.Column("source_identifier", text_in_byte_order(), primary_key=True),
        sa.Column("slot_start", sa.BigInteger, primary_key=True, autoincrement=False),
        *(sa.Column(name, sa.BigInteger, nullable=False) for name in _NUMBERS),
    )
    give_rights_like_partitions("coordination_ended", "INSERT, UPDATE, DELETE")
