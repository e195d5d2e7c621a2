"""The history: a row for each tenure that has ended, and since when and by what a partition is held.

Older code neither reads nor writes any of it. Who may change partitions may write history, so that a rolling upgrade
needs no new rights; ``airflow coordination grants`` prints them, too.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

_FOLLOW = """
DO $$ DECLARE role record; BEGIN
    FOR role IN SELECT DISTINCT grantee, privilege_type FROM information_schema.role_table_grants
        WHERE table_schema = current_schema() AND table_name = 'coordination_partitions'
        AND privilege_type IN ('SELECT', 'UPDATE') AND grantee <> current_user
    LOOP
        EXECUTE format('GRANT %s ON coordination_history TO %s',
            CASE role.privilege_type WHEN 'SELECT' THEN 'SELECT' ELSE 'INSERT, DELETE' END,
            CASE role.grantee WHEN 'PUBLIC' THEN 'PUBLIC' ELSE quote_ident(role.grantee) END);
    END LOOP;
END $$
"""


def _text_in_byte_order() -> sa.types.TypeEngine[str]:
    """SQLite compares bytes anyway."""
    return sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    op.add_column("coordination_partitions", sa.Column("max_failures", sa.BigInteger))
    op.add_column("coordination_partitions", sa.Column("acquired_at", sa.BigInteger))
    op.add_column("coordination_partitions", sa.Column("owner_details", sa.Text))
    op.create_table(
        "coordination_history",
        sa.Column("source_identifier", _text_in_byte_order(), primary_key=True),
        sa.Column("source_partition_key", _text_in_byte_order(), primary_key=True),
        sa.Column("token", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("nonce", _text_in_byte_order(), primary_key=True),
        sa.Column("partition_owner", sa.Text),
        sa.Column("owner_details", sa.Text),
        sa.Column("acquired_at", sa.BigInteger),
        sa.Column("ended_at", sa.BigInteger, nullable=False),
        sa.Column("outcome", sa.Text, nullable=False),
        sa.Column("op", sa.Text, nullable=False),
        sa.Column("status_after", sa.Text, nullable=False),
        sa.Column("closed_count", sa.BigInteger, nullable=False),
        sa.Column("error", sa.Text),
        sa.Column("row_count", sa.BigInteger, nullable=False),
        sa.Column("byte_count", sa.BigInteger, nullable=False),
    )
    op.create_index("coordination_history_by_time", "coordination_history", ["source_identifier", "ended_at"])
    if op.get_bind().dialect.name == "postgresql":
        op.execute(_FOLLOW)
