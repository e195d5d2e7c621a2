"""What fails in a source: columns that older code leaves alone, and counts nothing in (decision 80)."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from airflow_coordination.stores.sql.columns import FAILS

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    op.add_column("coordination_sources", sa.Column("failing_error", sa.Text))
    op.add_column("coordination_sources", sa.Column("failing_marks", sa.Text))
    op.add_column("coordination_sources", sa.Column("failing_since_op", sa.Text))
    # Every success asks it: there is hardly ever anything in it, however often the sources are registered anew.
    op.execute(f"CREATE INDEX coordination_sources_failing ON coordination_sources (source_identifier) WHERE {FAILS}")
