"""What happens by itself: a DAG for each group of duties, scheduled by the group's period, by the names of Druid.

``runRules`` hides what rules drop and makes the copies that they want, ``compactSegments`` makes small files mergeable,
``killStalePending`` deletes what no reader can follow, ``watchLosses`` holds a source back when most of its workers are
lost. Nothing waits for any of it: without these DAGs ingest and reading go on, and files only stay longer.

``[coordination] duties_properties`` names a file with Druid's own properties, and says which duty runs in which group:
``druid.coordinator.dutyGroups``. `airflow coordination config set` changes limits while they run; what became of each
run says the page *Duties*, and `airflow coordination duties status`.
"""

from airflow_coordination.operators import duty_dags

globals().update(duty_dags())
