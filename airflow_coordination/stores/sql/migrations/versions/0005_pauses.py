"""The pause of a source: whether new leases are held back, and who has said so. Older code does not ask."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from airflow_coordination.stores.sql.columns import PAUSED

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.add_column("coordination_sources", sa.Column("paused", sa.SmallInteger, nullable=False, server_default="0"))
    op.add_column("coordination_sources", sa.Column("pause_by", sa.Text))
    op.add_column("coordination_sources", sa.Column("pause_why", sa.Text))
    op.add_column("coordination_sources", sa.Column("pause_at", sa.BigInteger))
    op.add_column("coordination_sources", sa.Column("pause_op", sa.Text))
    # Every acquisition asks it: there is hardly ever anything in it, however often the sources are registered anew.
    op.execute(f"CREATE INDEX coordination_sources_paused ON coordination_sources (source_identifier) WHERE {PAUSED}")
