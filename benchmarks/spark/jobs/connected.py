"""The work on one partition by a client of a Spark Connect server: connected.py SERVER STORE SOURCE OUTPUT."""

import sys

from work import write

from airflow_coordination import Complete, drain, open_store
from airflow_coordination.systems.spark.connect import connect_session


def main(spark, lease):
    """Publish a partition's file."""
    with lease.publish("numbers") as block:
        write(spark, block.path)
    return Complete()


server, store, source, output = sys.argv[1:]
with connect_session(server, {}) as session:
    done = drain(main, store=open_store(store), source=source, spark=session, output_root=output, max_leases=1)
assert done.completed == 1, done.errors
