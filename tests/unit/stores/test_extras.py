"""What a store says whose client library is not installed."""

import subprocess
import sys

OPEN = """
import sys
sys.modules[sys.argv[1]] = None  # as if it were not installed
from airflow_coordination import open_store
try:
    open_store(sys.argv[2])
except ValueError as error:
    print(type(error).__name__, error)
"""


def test_a10_a_store_names_the_extra_that_it_needs():
    """A10: a process of its own, because this one has loaded the library already."""
    command = [sys.executable, "-c", OPEN, "psycopg", "postgresql+psycopg://ana:secret@db.example/c"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert said.startswith("SettingsError store='postgresql+psycopg://ana")
    assert "needs psycopg, which is not installed. Install it: pip install 'airflow-coordination[postgres]'" in said
    assert "secret" not in said
