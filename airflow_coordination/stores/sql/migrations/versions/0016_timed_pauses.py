"""When a pause ends by itself, and of which operation that end is: columns that older code leaves alone."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    op.add_column("coordination_sources", sa.Column("pause_until", sa.BigInteger))
    op.add_column("coordination_sources", sa.Column("pause_until_op", sa.Text))
