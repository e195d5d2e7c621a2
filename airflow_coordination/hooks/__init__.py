"""Airflow connections of type ``coordination``, and spark-submit under a lease."""
