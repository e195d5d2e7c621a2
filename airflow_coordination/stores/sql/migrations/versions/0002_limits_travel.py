"""The limit of lost leases travels with the lease: a column that older code neither reads nor writes."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.add_column("coordination_partitions", sa.Column("max_lost_leases", sa.BigInteger))
