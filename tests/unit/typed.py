"""What a shell, and our command line behind it, make of a line that a person types."""

import subprocess

from airflow_coordination.cli.standalone import parser

PARSER = parser()
"""Made once: that of all commands takes 30 ms."""
PROGRAMS = (["airflow", "coordination"], ["python", "-m", "airflow_coordination"])


def words(line):
    """Return the words of a line that was typed into bash."""
    said = subprocess.run(
        ["bash", "-c", f"set -- {line}; printf '%s\\0' \"$@\""],
        capture_output=True,
        check=True,
        env={"LC_ALL": "C.UTF-8"},
    )
    return said.stdout.decode().split("\0")[:-1]


def understood(line):
    """Return what the command line makes of a line that was typed into bash."""
    typed = words(line)
    program = next(each for each in PROGRAMS if typed[: len(each)] == each)
    return PARSER.parse_args(typed[len(program) :])
