"""The SQL store: SQLite on one host, PostgreSQL for several."""

from airflow_coordination.stores.sql.opening import open_sql_store

__all__ = ["open_sql_store"]
