"""``python -m airflow_coordination``."""

import sys

from airflow_coordination.cli.standalone import main

if __name__ == "__main__":
    sys.exit(main())
