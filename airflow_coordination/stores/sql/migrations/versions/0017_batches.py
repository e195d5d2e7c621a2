"""Of which action on many a line of the audit is; the newest lines of a source. Older code leaves both alone."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    op.add_column("coordination_audit", sa.Column("batch", sa.Text))
    op.create_index("coordination_audit_newest", "coordination_audit", ["source_identifier", "number"])
