"""The history: a row for each tenure that has ended, and since when and by what a partition is held.

Older code neither reads nor writes any of it. Who may change partitions may write history, so that a rolling upgrade
needs no new rights; ``airflow coordination grants`` prints them, too.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from airflow_coordination.stores.sql.migrations.tables import give_rights_like_partitions, text_in_byte_order

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.add_column("coordination_partitions", sa.Column("max_failures", sa.BigInteger))
    op.add_column("coordination_partitions", sa.Column("acquired_at", sa.BigInteger))
    op.add_column("coordination_partitions", sa.Column("owner_details", sa.Text))
    op.create_table(
        "coordination_history",
        sa.Column("source_identifier", text_in_byte_order(), primary_key=True),
        sa.Column("source_partition_key", text_in_byte_order(), primary_key=True),
        sa.Column("token", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("nonce", text_in_byte_order(), primary_key=True),
        sa.Column("partition_owner", sa.Text),
        sa.Column("owner_details", sa.Text),
        sa.Column("acquired_at", sa.BigInteger),
        sa.Column("ended_at", sa.BigInteger, nullable=False),
        sa.Column("outcome", sa.Text, nullable=False),
        sa.Column("op", sa.Text, nullable=False),
        sa.Column("status_after", sa.Text, nullable=False),
        sa.Column("closed_count", sa.BigInteger, nullable=False),
        sa.Column("error", sa.Text),
        sa.Column("row_count", sa.BigInteger, nullable=False),
        sa.Column("byte_count", sa.BigInteger, nullable=False),
    )
    op.create_index("coordination_history_by_time", "coordination_history", ["source_identifier", "ended_at"])
    give_rights_like_partitions("coordination_history")
