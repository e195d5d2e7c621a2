"""``python -m airflow_coordination``."""

import sys

from airflow_coordination.values.program import BY_PYTHON, PROGRAM


def main() -> int:
    """Carry out a command: with Airflow's connections where Airflow's own command line does not take our commands."""
    if PROGRAM == BY_PYTHON:
        from airflow_coordination.cli import airflow_commands

        return airflow_commands.main()
    from airflow_coordination.cli import standalone

    return standalone.main()


if __name__ == "__main__":
    sys.exit(main())
