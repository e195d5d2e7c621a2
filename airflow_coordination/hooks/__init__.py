"""Airflow connections of type ``coordination``, and what every operator of ours has in common with Airflow."""
