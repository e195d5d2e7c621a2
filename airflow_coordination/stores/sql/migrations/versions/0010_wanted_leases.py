"""Who has asked for a lease: columns that older code leaves alone, because they say nothing of any tenure but one."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    op.add_column("coordination_partitions", sa.Column("wanted_by", sa.Text))
    op.add_column("coordination_partitions", sa.Column("wanted_token", sa.BigInteger))
    op.add_column("coordination_partitions", sa.Column("wanted_until", sa.BigInteger))
