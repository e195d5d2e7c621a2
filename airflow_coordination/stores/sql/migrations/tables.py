"""What several migrations need to make a table beside the partitions."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

_FOLLOW = """
DO $$ DECLARE role record; BEGIN
    FOR role IN SELECT DISTINCT grantee, privilege_type FROM information_schema.role_table_grants
        WHERE table_schema = current_schema() AND table_name = 'coordination_partitions'
        AND privilege_type IN ('SELECT', 'UPDATE') AND grantee <> current_user
    LOOP
        EXECUTE format('GRANT %s ON {table} TO %s',
            CASE role.privilege_type WHEN 'SELECT' THEN 'SELECT' ELSE '{changes}' END,
            CASE role.grantee WHEN 'PUBLIC' THEN 'PUBLIC' ELSE quote_ident(role.grantee) END);
    END LOOP;
END $$
"""


def text_in_byte_order() -> sa.types.TypeEngine[str]:
    """Return the type of a text that sorts by its bytes; SQLite compares bytes anyway."""
    return sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def give_rights_like_partitions(table: str, changes: str = "INSERT, DELETE") -> None:
    """Let who may read partitions read a table, and who may change them write it and delete from it.

    So a rolling upgrade needs no new rights; ``airflow coordination grants`` prints them, too.

    :param changes: what they may do who may change partitions.
    """
    if op.get_bind().dialect.name == "postgresql":
        op.execute(_FOLLOW.format(table=table, changes=changes))
