"""Notes of what follows endings at their source. Older code neither writes nor reads any, and takes none away."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from airflow_coordination.stores.sql.migrations.tables import give_rights_like_partitions, text_in_byte_order

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    op.create_table(
        "coordination_follow_ups",
        sa.Column("source_identifier", text_in_byte_order(), primary_key=True),
        sa.Column("source_partition_key", text_in_byte_order(), primary_key=True),
        sa.Column("token", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("op", text_in_byte_order(), primary_key=True),
        sa.Column("follow_up", sa.Text, nullable=False),
        sa.Column("noted_at", sa.BigInteger, nullable=False),
    )
    give_rights_like_partitions("coordination_follow_ups")
