"""The schema's history, run by :mod:`airflow_coordination.stores.sql.schema`."""
