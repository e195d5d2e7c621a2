"""Copies of the accounting with what is published and with each tenure: columns that older code leaves empty."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    for table in ("coordination_heads", "coordination_history"):
        op.add_column(table, sa.Column("accounting", sa.Text))
