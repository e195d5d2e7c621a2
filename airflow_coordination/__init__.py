"""Leases for partitioned Spark work in Airflow."""
