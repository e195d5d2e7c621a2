"""``python -m scripts.dashboard.picture``: draws docs/operate/grafana-dashboard.json from a night's metrics.

It is no picture of Grafana, which Debian has not. Each panel is drawn from the answers of a real Prometheus (Debian:
``apt-get install prometheus``) to the panel's own queries, at its place and in its unit. What comes of Airflow's own
metrics is left out: the night has no Airflow.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from scripts.dashboard.drawing import Series, drawn
from scripts.dashboard.night import MINUTES, minutes
from tests.engines.ports import free_port

ROOT: Final = Path(__file__).resolve().parents[2]
DASHBOARD: Final = ROOT / "docs/operate/grafana-dashboard.json"
PICTURE: Final = ROOT / "docs/images/grafana-dashboard.svg"
_STEP: Final = 60
_SAMPLE: Final = re.compile(r"^(coordination_\w+(?:\{.*\})?) (\S+)$")


@dataclass(frozen=True, slots=True)
class Panel:
    """A panel as the dashboard has it.

    :param kind: ``stat`` or ``timeseries``.
    :param place: x, y, width and height in Grafana's grid of 24 columns.
    :param queries: with what names their series: Grafana's ``legendFormat``.
    """

    title: str
    kind: str
    unit: str
    place: tuple[int, int, int, int]
    queries: tuple[tuple[str, str], ...]


def panels() -> list[Panel]:
    """Return the panels that show what ``airflow coordination metrics`` says."""
    found = [_panel(each) for each in json.loads(DASHBOARD.read_text())["panels"]]
    return [each for each in found if not any("airflow_" in query for query, _ in each.queries)]


def _panel(said: dict[str, Any]) -> Panel:
    place = said["gridPos"]
    queries = tuple((each["expr"].replace("$source", ".*"), each.get("legendFormat", "")) for each in said["targets"])
    unit = said["fieldConfig"]["defaults"]["unit"]
    return Panel(said["title"], said["type"], unit, tuple(place[name] for name in "xywh"), queries)


def digest() -> str:
    """Return what changes with the panels that are drawn."""
    return hashlib.sha256(repr(panels()).encode()).hexdigest()[:16]


def samples() -> tuple[list[str], float]:
    """Return the night as OpenMetrics has it, each metric's samples together, and its last second."""
    found: dict[str, list[str]] = {}
    last = 0.0
    for at, text in minutes():
        last = at.timestamp()
        for line in text.splitlines():
            if sample := _SAMPLE.match(line):
                found.setdefault(sample[1].partition("{")[0], []).append(f"{sample[1]} {sample[2]} {last:.0f}")
    lines = [line for name, those in found.items() for line in (f"# TYPE {name} gauge", *those)]
    return [*lines, "# EOF", ""], last


@contextmanager
def prometheus(lines: list[str]) -> Iterator[str]:
    """Give the address of a Prometheus that knows these samples."""
    with tempfile.TemporaryDirectory() as folder:
        text, data = Path(folder, "night.om"), Path(folder, "data")
        text.write_text("\n".join(lines))
        Path(folder, "prometheus.yml").write_text("global: {}\n")
        fill = ["promtool", "tsdb", "create-blocks-from", "openmetrics", str(text), str(data)]
        subprocess.run(fill, check=True, capture_output=True)
        address = f"127.0.0.1:{free_port()}"
        options = {"config.file": f"{folder}/prometheus.yml", "storage.tsdb.path": data, "web.listen-address": address}
        options |= {"storage.tsdb.retention.time": "100y"}
        serve = ["prometheus", *(f"--{name}={value}" for name, value in options.items())]
        process = subprocess.Popen(serve, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            _wait_for(f"http://{address}/-/ready", process)
            yield f"http://{address}"
        finally:
            process.terminate()
            process.wait()


def _wait_for(url: str, process: subprocess.Popen[bytes]) -> None:
    while process.poll() is None:
        try:
            with urllib.request.urlopen(url):
                return
        except urllib.error.URLError:
            time.sleep(0.2)
    raise SystemExit(f"prometheus has ended with {process.returncode}")


def asked(address: str, panel: Panel, until: float) -> list[Series]:
    """Return the answers to a panel's queries; a stat has the last value of each."""
    found = []
    for query, legend in panel.queries:
        told = {"query": query, "start": until - (MINUTES - 1) * _STEP, "end": until, "step": _STEP}
        with urllib.request.urlopen(f"{address}/api/v1/query_range?{urllib.parse.urlencode(told)}") as answer:
            result = json.load(answer)["data"]["result"]
        for each in result:
            points = [(float(at), float(value)) for at, value in each["values"]]
            found.append(Series(_named(legend, each["metric"]), points))
    return found


def _named(legend: str, labels: dict[str, str]) -> str:
    """Return the name of a series, as Grafana makes it of a legend such as ``{{source}}``."""
    named = re.sub(r"\{\{\s*(\w+)\s*\}\}", lambda found: labels.get(found[1], ""), legend)
    return named or ", ".join(labels.get(name, "") for name in ("state", "source") if name in labels)


def picture() -> str:
    """Return the picture of today's dashboard."""
    lines, until = samples()
    with prometheus(lines) as address:
        shown = [(panel, asked(address, panel, until)) for panel in panels()]
    return drawn(json.loads(DASHBOARD.read_text())["title"], shown, f"panels {digest()}")


def main() -> None:
    """Draw it."""
    PICTURE.write_text(picture())
    print(f"written: {PICTURE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
