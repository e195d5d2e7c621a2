"""The command line, with and without Airflow."""
