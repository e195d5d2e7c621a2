"""What became of a partition's records: a column that older code neither reads nor writes."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.add_column("coordination_partitions", sa.Column("accounting", sa.Text))
