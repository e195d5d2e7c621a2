"""What Airflow finds of the board, and what a task's process pays for it."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import entry_points

from airflow_coordination.board.app import create_app
from airflow_coordination.board.plugin import ROUTES
from airflow_coordination.links.partitions import TAB
from tests.house.tree import PACKAGE

LOADED = """\
import json, sys
from airflow.providers.common.compat.sdk import AirflowPlugin
before = set(sys.modules)
import airflow_coordination.board.plugin
print(json.dumps(sorted(set(sys.modules) - before)))
"""


def test_a_task_process_loads_only_the_plugin_s_own_module():
    ran = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, check=True, text=True)
    ours = {name for name in json.loads(ran.stdout) if not name.startswith("airflow_coordination.board")}
    assert ours <= {"airflow_coordination", "importlib", "gc", "typing"}


def test_a_task_s_link_leads_to_the_tab_that_is_registered():
    """Both name it: the plugin may import nothing of ours, and what is below the board may not import it."""
    assert ROUTES["task_instance"] == TAB


def test_airflow_finds_it_by_its_entry_point():
    [found] = entry_points(group="airflow.plugins", name="airflow_coordination")
    plugin = found.load()()
    [app] = plugin.fastapi_apps
    assert (app["url_prefix"], app["app"].title) == ("/coordination", create_app().title)
    assert [page["destination"] for page in plugin.react_apps] == ["nav", "dag", "dag_run", "task_instance"]
    assert len({page["url_route"] for page in plugin.react_apps}) == 4
    [(name, bundle)] = {(page["name"], page["bundle_url"]) for page in plugin.react_apps}
    _, _, file = bundle.partition("coordination/static/")
    assert f"globalThis.{name} = " in (PACKAGE / "board" / "static" / file).read_text()
