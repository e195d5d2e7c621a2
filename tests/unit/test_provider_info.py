"""What Airflow reads about us, checked by Airflow's own schemas."""

import json
import re
from importlib import import_module
from importlib.resources import files

import jsonschema
import pytest

from airflow_coordination.get_provider_info import get_provider_info
from airflow_coordination.leases import Settings
from airflow_coordination.values.program import PROGRAM, WITH_AIRFLOW
from tests.docs.pages import ROOT

INFO = get_provider_info()
PARTS = ["connection-types", "config", "operators", "triggers", "extra-links"]
COMMANDS = ["cli"] if PROGRAM == WITH_AIRFLOW else []
"""Airflow 3.1 takes no commands of ours, and its schema has no word for them."""


def schema(name):
    return json.loads((files("airflow") / name).read_text())


def test_it_fits_the_schema_of_the_running_airflow():
    jsonschema.validate(INFO, schema("provider_info.schema.json"))


@pytest.mark.parametrize("part", [*PARTS, *COMMANDS])
def test_its_parts_fit_the_stricter_schema_of_provider_yaml(part):
    full = schema("provider.yaml.schema.json")
    jsonschema.validate(INFO[part], {**full["properties"][part], "definitions": full["definitions"]})


def test_every_name_in_it_can_be_imported():
    groups = INFO["operators"] + INFO["sensors"] + INFO["triggers"] + INFO["hooks"]
    for module in (module for group in groups for module in group["python-modules"]):
        import_module(module)
    paths = [INFO["connection-types"][0]["hook-class-name"], *INFO["extra-links"], *INFO["cli"]]
    for module, _, name in (path.rpartition(".") for path in paths):
        assert getattr(import_module(module), name)


def test_the_defaults_it_shows_are_the_defaults_that_hold():
    options = INFO["config"]["coordination"]["options"]
    for name in (
        "ownership_timeout",
        "retry_delay",
        "max_retry_delay",
        "no_progress_timeout",
        "request_deadline",
        "acknowledgment_timeout",
    ):
        assert float(options[name]["default"]) == getattr(Settings(), name).total_seconds()
    for name in ("max_failures", "max_lost_leases"):
        assert int(options[name]["default"]) == getattr(Settings(), name)


def test_each_option_is_of_a_version_that_the_changelog_has():
    """All of them were of 0.1.0, those of yesterday, too."""
    versions = re.findall(r"^## \[(.+)\]", (ROOT / "CHANGELOG.md").read_text(), re.M)
    options = INFO["config"]["coordination"]["options"]
    assert {option["version_added"] for option in options.values()} <= set(versions)
    assert (options["max_failures"]["version_added"], options["brake_after"]["version_added"]) == ("0.1.0", "0.2.0")


@pytest.mark.skipif(not COMMANDS, reason="Airflow 3.1 knows no forms but those of hooks, and shows its general one")
def test_airflow_shows_our_form():
    from airflow.providers_manager import ProvidersManager

    manager = ProvidersManager()
    assert manager.field_behaviours["coordination"]["hidden_fields"] == ["schema", "login", "port"]
    assert "extra__coordination__source_coordination" in manager.connection_form_widgets
