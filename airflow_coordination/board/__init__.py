"""The board: the page "Partitions" in Airflow's UI, and the API behind it."""
