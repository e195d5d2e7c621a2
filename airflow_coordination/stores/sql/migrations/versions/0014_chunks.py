"""Sums of the chunks of datasets, for people to look at. Older code neither writes nor reads any."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from airflow_coordination.stores.sql.migrations.tables import give_rights_like_partitions, text_in_byte_order

revision = "0014"
down_revision = "0013"

_NUMBERS = (
    "head_count",
    "uncovered_heads",
    "row_count",
    "dead_rows",
    "files_before",
    "bytes_before",
    "uncovered_bytes",
    "files_now",
    "bytes_now",
    "merged_at",
    "epoch",
)


def upgrade() -> None:
    op.create_table(
        "coordination_chunks",
        sa.Column("source_identifier", text_in_byte_order(), primary_key=True),
        sa.Column("dataset", text_in_byte_order(), primary_key=True),
        sa.Column("place", text_in_byte_order(), primary_key=True),
        sa.Column("chunk_start", sa.BigInteger),
        sa.Column("chunk_end", sa.BigInteger),
        sa.Column("state", text_in_byte_order(), nullable=False),
        *(sa.Column(name, sa.BigInteger) for name in _NUMBERS),
        sa.Column("reason", sa.Text),
        sa.Column("group_key", sa.Text),
        sa.Column("updated_at", sa.BigInteger, nullable=False),
    )
    give_rights_like_partitions("coordination_chunks", "INSERT, UPDATE, DELETE")
