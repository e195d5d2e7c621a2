"""Alembic's environment: the connection comes from the store, which holds the lock and the transaction."""

from alembic import context

context.configure(connection=context.config.attributes["connection"], version_table="coordination_schema_history")
context.run_migrations()
