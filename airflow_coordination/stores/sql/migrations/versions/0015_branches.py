"""Documents of a source with all their versions, and the branch that a partition runs in. Older code writes neither."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from airflow_coordination.stores.sql.indexes import BRANCHES, creation
from airflow_coordination.stores.sql.migrations.tables import give_rights_like_partitions, text_in_byte_order

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    op.add_column("coordination_partitions", sa.Column("branch", sa.BigInteger))
    op.create_table(
        "coordination_documents",
        sa.Column("source_identifier", text_in_byte_order(), primary_key=True),
        sa.Column("name", text_in_byte_order(), primary_key=True),
        sa.Column("version", sa.BigInteger, primary_key=True),
        sa.Column("content", sa.Text, nullable=False),
        sa.Column("author", sa.Text, nullable=False),
        sa.Column("comment", sa.Text, nullable=False),
        sa.Column("op", sa.Text, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
    )
    if op.get_bind().dialect.name != "postgresql":
        for index in BRANCHES:  # on PostgreSQL they are built afterwards, beside the writers (``schema.py``)
            op.execute(creation(index))
    give_rights_like_partitions("coordination_documents", "INSERT")
