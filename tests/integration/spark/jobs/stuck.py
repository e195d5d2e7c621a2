"""Never comes back, whatever is raised in it."""

import time

from signs import here

from airflow_coordination.spark import partition_application


@partition_application
def main(spark, lease):
    here("running")
    while True:
        try:
            time.sleep(600)
        except BaseException:
            here("interrupted")


if __name__ == "__main__":
    main()
