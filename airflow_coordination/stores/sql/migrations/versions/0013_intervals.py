"""Intervals of head records: two columns that older code leaves alone, and publishes beside."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    for name in ("interval_start", "interval_end"):
        op.add_column("coordination_heads", sa.Column(name, sa.BigInteger))
