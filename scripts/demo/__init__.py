"""The demo: the example DAG over real flights, in a real Airflow with real Spark, watched from the terminal."""
