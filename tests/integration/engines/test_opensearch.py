"""How a node of OpenSearch starts and ends, and that it is the real one."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from airflow_coordination.values.input_errors import SettingsError
from scripts.java_packages import VERSIONS, jars
from tests.engines.opensearch import opensearch_node as node


def test_it_is_the_version_that_was_asked_for(opensearch_node: str) -> None:
    with urllib.request.urlopen(opensearch_node) as answer:
        about = json.load(answer)["version"]
    assert (about["distribution"], about["number"]) == ("opensearch", VERSIONS["opensearch"]())


@pytest.mark.opensearch
def test_two_run_side_by_side_and_end_with_their_blocks(opensearch_node: str) -> None:
    with node(jars("opensearch")) as url:
        assert url != opensearch_node
    with pytest.raises(urllib.error.URLError, match="refused"):
        urllib.request.urlopen(url)


def test_no_jars_are_an_error_with_the_command(tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as error, node(tmp_path):
        pass
    assert str(error.value) == (
        f"jars='{tmp_path}': has no opensearch-*.jar. "
        "Download it first; in a checkout: python scripts/java_packages.py opensearch"
    )


@pytest.mark.opensearch
def test_a_node_that_cannot_start_says_why(tmp_path: Path) -> None:
    (tmp_path / "opensearch-0.jar").touch()
    with pytest.raises(RuntimeError, match=r"(?s)OpenSearch did not start.*OpenSearchNode.java"), node(tmp_path):
        pass
