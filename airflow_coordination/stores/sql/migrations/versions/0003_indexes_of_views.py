"""Indexes for those who look: partitions by status and key, and those that are parked. Older code does not see them.

On PostgreSQL with partitions in it they are there already, built beside the writers (``schema.py``).
"""

from __future__ import annotations

from alembic import op

from airflow_coordination.stores.sql.indexes import VIEWS, creation

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    for index in VIEWS:
        op.execute(creation(index))
