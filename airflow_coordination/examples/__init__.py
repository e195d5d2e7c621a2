"""The example that ``airflow coordination quickstart`` writes into a DAG folder: copied from here, never imported."""
