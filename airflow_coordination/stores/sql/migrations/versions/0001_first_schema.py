"""The first schema."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def _text_in_byte_order() -> sa.types.TypeEngine[str]:
    """SQLite compares bytes anyway."""
    return sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def _required(name: str, kind: type[sa.types.TypeEngine[int]] = sa.BigInteger, default: str = "0") -> sa.Column[int]:
    return sa.Column(name, kind, nullable=False, server_default=sa.text(default))


def upgrade() -> None:
    _partitions()
    _heads()
    op.create_table(
        "coordination_sources",
        sa.Column("source_identifier", _text_in_byte_order(), primary_key=True),
        sa.Column("facts", sa.Text, nullable=False),
        sa.Column("updated_at", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "coordination_audit",
        sa.Column("number", sa.BigInteger().with_variant(sa.Integer, "sqlite"), sa.Identity(), primary_key=True),
        sa.Column("source_identifier", _text_in_byte_order(), nullable=False),
        sa.Column("source_partition_key", _text_in_byte_order(), nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("action", sa.Text, nullable=False),
        sa.Column("acted_by", sa.Text, nullable=False),
        sa.Column("why", sa.Text, nullable=False),
        sa.Column("op", sa.Text, nullable=False),
    )
    op.create_index(
        "coordination_audit_by_key", "coordination_audit", ["source_identifier", "source_partition_key", "number"]
    )
    op.create_table(
        "coordination_meta",
        sa.Column("one", sa.SmallInteger, sa.CheckConstraint("one = 1"), primary_key=True, autoincrement=False),
        sa.Column("store_id", sa.Text, nullable=False),
        _required("schema_version", sa.Integer),
        _required("readable_by", sa.Integer),
        _required("pages"),
    )
    if op.get_bind().dialect.name == "postgresql":
        op.execute("CREATE SEQUENCE coordination_pages")


def _partitions() -> None:
    op.create_table(
        "coordination_partitions",
        sa.Column("source_identifier", _text_in_byte_order(), primary_key=True),
        sa.Column("source_partition_key", _text_in_byte_order(), primary_key=True),
        sa.Column("source_partition_status", sa.Text, nullable=False),
        _required("priority", sa.Integer),
        _required("ordinal"),
        _required("rank", sa.SmallInteger, "2"),
        sa.Column("ready", sa.SmallInteger),
        sa.Column("timed", sa.SmallInteger),
        sa.Column("position", sa.BigInteger),
        sa.Column("due_at", sa.BigInteger),
        _required("token"),
        sa.Column("nonce", sa.Text, nullable=False),
        sa.Column("last_op", sa.Text, nullable=False),
        _required("closed_count"),
        _required("failures"),
        _required("lost_leases"),
        _required("confirmed", sa.SmallInteger),
        _required("deleted", sa.SmallInteger),
        sa.Column("reopen_at", sa.BigInteger),
        sa.Column("available_at", sa.BigInteger),
        sa.Column("partition_ownership_timeout", sa.BigInteger),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("updated_at", sa.BigInteger, nullable=False),
        sa.Column("partition_owner", sa.Text),
        sa.Column("owner_task", sa.Text),
        sa.Column("owner_try", sa.Integer),
        sa.Column("create_op", sa.Text, nullable=False),
        sa.Column("generation", sa.Text, nullable=False),
        sa.Column("last_error", sa.Text),
        sa.Column("payload", sa.Text),
        sa.Column("staged", sa.Text),
        sa.Column("partition_progress_state", sa.Text),
        *(sa.Column(f"ring_{slot}", sa.Text) for slot in range(8)),
    )
    _partial_index("ready", ["source_identifier", "ready", "priority", "position", "ordinal"], "ready IS NOT NULL")
    _partial_index("timed", ["source_identifier", "timed", "due_at"], "timed IS NOT NULL")
    _partial_index("deleted", ["source_identifier", "source_partition_key"], "deleted = 1")


def _partial_index(name: str, columns: list[str], where: str) -> None:
    condition = sa.text(where)
    op.create_index(
        f"coordination_partitions_{name}",
        "coordination_partitions",
        columns,
        sqlite_where=condition,
        postgresql_where=condition,
    )


def _heads() -> None:
    op.create_table(
        "coordination_heads",
        sa.Column("source_identifier", _text_in_byte_order(), primary_key=True),
        sa.Column("dataset", _text_in_byte_order(), primary_key=True),
        sa.Column("source_partition_key", _text_in_byte_order(), primary_key=True),
        sa.Column("blocks", sa.Text, nullable=False),
        _required("row_count"),
        _required("byte_count"),
        sa.Column("generation", sa.Text, nullable=False),
        sa.Column("op", sa.Text, nullable=False),
        _required("token"),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("published_at", sa.BigInteger, nullable=False),
    )
    op.create_index("coordination_heads_by_key", "coordination_heads", ["source_identifier", "source_partition_key"])
