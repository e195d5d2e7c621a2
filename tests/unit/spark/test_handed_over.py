"""What a driver process makes of what it was handed (B4)."""

import json
import os
import subprocess
import sys

import pytest

from airflow_coordination.leases import SettingsError
from airflow_coordination.leases.handover import ENVELOPE_VARIABLE, STORE_VARIABLE, Envelope
from airflow_coordination.spark.handed_over import HandedOver

LOOK = """
import json, os
path = os.environ["COORDINATION_ENVELOPE"]
before = os.path.exists(path)
import airflow_coordination.spark
after, name = os.path.exists(path), "COORDINATION_ENVELOPE" in os.environ
from airflow_coordination.spark.handed_over import HandedOver
first, second = HandedOver.take(), HandedOver.take()
print(json.dumps([before, after, name, first.store(), first.word, second.word]))
"""


def test_b4_an_envelope_is_read_with_the_first_import_and_kept_for_one():
    """B4 d: in a process of its own, as in a driver."""
    path = Envelope("sqlite:////s.db", "w0rd").seal()
    environment = os.environ | {ENVELOPE_VARIABLE: str(path)}
    told = subprocess.run([sys.executable, "-c", LOOK], env=environment, capture_output=True, text=True, check=True)
    assert json.loads(told.stdout) == [True, False, False, "sqlite:////s.db", "w0rd", None]


def test_b4_a_second_process_is_told_what_happened(monkeypatch):
    """B4 d."""
    path = Envelope("s", "w").seal()
    Envelope.open(path)
    monkeypatch.setenv(ENVELOPE_VARIABLE, str(path))
    handed = HandedOver.take()
    assert handed.word is None
    with pytest.raises(SettingsError, match="was read before, by another process of this submission"):
        handed.store()


def test_b4_a_driver_elsewhere_has_the_store_in_its_environment(monkeypatch):
    """B4 d: where nothing secret is sent that way, or a secret of the cluster is."""
    monkeypatch.setenv(STORE_VARIABLE, "base64:c3FsaXRlOi8vLy9zLmRi")
    assert (HandedOver.take().store(), HandedOver.take().word) == ("sqlite:////s.db", None)
