"""What follows a parking: a column that older code leaves alone, whose parkings are followed all the same."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from airflow_coordination.stores.sql.indexes import FOLLOWED, creation

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    op.add_column("coordination_partitions", sa.Column("on_parked", sa.Text))
    if op.get_bind().dialect.name != "postgresql":
        for index in FOLLOWED:  # on PostgreSQL they are built afterwards, beside the writers (``schema.py``)
            op.execute(creation(index))
