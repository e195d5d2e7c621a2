"""``quickstart --run`` in an empty directory: a partition is seen completing on the page Partitions."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import expect, sync_playwright

from airflow_coordination.cli.quickstart.airflow_api import AirflowApi
from tests.browser.conftest import CHROMIUM, QUIET
from tests.house.tree import ROOT
from tests.system.harness import marked
from tests.system.terminal import READY, SHOWN, Terminal

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
MARK = "COORDINATION_QUICKSTART"
FIVE_MINUTES = 300


def look(port: str, password: str, address: str) -> None:
    """Log in as a person does, and see a completed partition at the address that was printed."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        page = browser.new_page()
        page.set_default_timeout(60_000)
        page.goto(f"http://localhost:{port}")
        page.get_by_label("Username").fill("admin")
        page.locator("input[type=password]").fill(password)
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("button", name="Browse")).to_be_visible()
        page.goto(address)
        expect(
            page.get_by_role("row").filter(has_text="sales-2026-").filter(has_text="completed").first
        ).to_be_visible()
        browser.close()


@pytest.fixture
def airflow_of_the_checkout() -> Path:
    """The command of the tests' own environment."""
    return Path(sys.executable).with_name("airflow")


@pytest.fixture
def airflow_of_the_wheel(tmp_path: Path) -> Path:
    """The command of an environment into which only the wheel was installed, with what it requires."""
    bin_here = Path(sys.executable).parent
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True)
    [wheel] = tmp_path.glob("*.whl")
    place = tmp_path / "venv"
    subprocess.run([bin_here / "uv", "venv", "--quiet", "--python", sys.executable, place], check=True)
    install = [bin_here / "uv", "pip", "install", "--quiet", "--python", place / "bin" / "python"]
    # The lock's versions and hashes hold here too, as constraints.
    constraints = ["--constraint", ROOT / "requirements" / "dev.txt"]
    subprocess.run([*install, *constraints, f"{wheel}[airflow,spark]"], check=True)
    return place / "bin" / "airflow"


@pytest.mark.parametrize(
    ("installed", "options", "rows"),
    [
        pytest.param("airflow_of_the_checkout", ["--no-spark"], "csv", id="plain-python"),
        pytest.param("airflow_of_the_wheel", [], "parquet", id="wheel", marks=[pytest.mark.long, pytest.mark.spark]),
    ],
)
def test_a_partition_is_seen_completed_within_five_minutes_and_nothing_is_left(
    installed, options, rows, request, tmp_path
):
    program = request.getfixturevalue(installed)
    empty, home = tmp_path / "empty", tmp_path / "home"
    empty.mkdir()
    home.mkdir()
    theirs = ("AIRFLOW", "PYTHON", "VIRTUAL_ENV", "SPARK")
    environment = {name: text for name, text in os.environ.items() if not name.startswith(theirs)}
    environment |= {"HOME": str(home), "PATH": "/usr/local/bin:/usr/bin:/bin"}
    command = [str(program), "coordination", "quickstart"]
    terminal = Terminal([*command, "--run", *options], empty, environment)
    try:
        port, password = terminal.reach(READY, FIVE_MINUTES).groups()
        seconds = int(terminal.reach(SHOWN, FIVE_MINUTES)[1])
        terminal.reach("Ctrl-C ends it", 10)
        address = terminal.reach(r"http://localhost:\d+/plugin/\S+", 10)[0]
        if CHROMIUM:
            look(port, password, address)
        api = AirflowApi(f"http://127.0.0.1:{port}", password)
        assert api.on_the_board("coordination_quickstart", "quickstart|PARTITION", "COMPLETED")
        busy = subprocess.run([*command, "--clean"], cwd=empty, env=environment, capture_output=True, text=True)
        assert "is running. End it with Ctrl-C first" in busy.stderr
        assert terminal.interrupt() == 0, terminal.text
    finally:
        if terminal.process.poll() is None:
            terminal.interrupt()
    assert seconds < FIVE_MINUTES
    assert marked(MARK, str(empty)) == []
    assert list(empty.rglob(f"published/**/*.{rows}"))
    subprocess.run([*command, "--clean"], cwd=empty, env=environment, check=True)
    assert list(empty.iterdir()) == []
    seen = "seen in Chromium" if CHROMIUM else "shown"
    print(f"\n{request.node.callspec.id}: a completed partition is {seen}, {seconds} s after the start")
