"""What is watched exists: metrics of the rules and the dashboard, pages of the alerts, commands on the pages."""

from __future__ import annotations

import itertools
import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from airflow_coordination.board.plugin import ROUTES
from airflow_coordination.cli.standalone import parser
from airflow_coordination.cli.subcommands.metrics import FAMILIES, OLD_PARTITIONS, PREFIX, SOURCE, STATE, STATES
from airflow_coordination.protocol.metrics import Gauge, Metric, full_name
from tests.docs.pages import ROOT

OPERATE = ROOT / "docs/operate"
RUNBOOKS = sorted((OPERATE / "runbooks").glob("*.md"))
PAGES = [OPERATE / "alerts.md", *RUNBOOKS]
RULES_FILE, RULES_TEST = OPERATE / "alert-rules.yaml", Path(__file__).parent / "alert-rules-test.yaml"
ALERTS_PAGE = (OPERATE / "alerts.md").read_text()
GROUPS = yaml.safe_load(RULES_FILE.read_text())["groups"]
RULES = [rule for group in GROUPS for rule in group["rules"]]
[MAPPING] = yaml.safe_load((OPERATE / "statsd-mapping.yaml").read_text())["mappings"]
BOARD = json.loads((OPERATE / "grafana-dashboard.json").read_text())

PLACE = "https://documentation.example"
NOT_OURS = {"node_textfile_mtime_seconds"}
"""node_exporter, textfile collector."""
WORDS = {"and", "or", "unless", "by", "on", "ignoring", "without", "bool", "offset"}
FUNCTIONS = {"absent", "avg", "count", "delta", "increase", "max", "max_over_time", "min", "rate", "sum", "time"}
DURATION = re.compile(r"(\d+(ms|[smhdwy]))+")


def mapped(statsd_name: str) -> tuple[str, dict[str, str]] | None:
    """Return name and labels that statsd_exporter gives by the mapping; Go anchors no expression by itself either."""
    found = re.search(MAPPING["match"], statsd_name)

    def filled(template: str) -> str:
        return re.sub(r"\$\{(\d+)\}", lambda group: found[int(group[1])], template)

    return found and (filled(MAPPING["name"]), {name: filled(value) for name, value in MAPPING["labels"].items()})


def metrics_of(expression: str) -> set[str]:
    """Return the names of metrics in a PromQL expression."""
    bare = re.sub(r"\{[^}]*\}|\[[^\]]*\]", " ", re.sub(r'"[^"]*"', "", expression))
    bare = re.sub(r"\b(by|on|ignoring|without)\s*\([^)]*\)", " ", bare)
    return set(re.findall(r"\b[a-zA-Z_:][\w:]*", bare)) - WORDS - FUNCTIONS


def labels_of(expression: str) -> list[tuple[str, str, str]]:
    """Return the label matchers in a PromQL expression."""
    inside = re.findall(r"\{([^}]*)\}", expression)
    return [match for each in inside for match in re.findall(r'(\w+)(=~|!~|!=|=)"([^"]*)"', each)]


FROM_AIRFLOW = {mapped(f"airflow.{full_name('flights', name)}")[0] for name in (*Metric, *Gauge)}
EXISTING = {family.name for family in FAMILIES if family is not OLD_PARTITIONS} | FROM_AIRFLOW | NOT_OURS
EXPRESSIONS = [rule["expr"] for rule in RULES] + [
    target["expr"] for panel in BOARD["panels"] for target in panel["targets"]
]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_every_metric_and_label_that_is_asked_for_exists(expression):
    assert metrics_of(expression)
    assert metrics_of(expression) - EXISTING == set()
    for name, _, value in labels_of(expression):
        assert name in {SOURCE, PREFIX, STATE, "file"}
        assert name != STATE or set(value.split("|")) <= set(STATES)


def test_a_name_that_does_not_exist_is_seen():
    """The check can fail."""
    expression = 'sum by (source) (rate(coordination_gone{state="x"}[5m])) > 0 unless on (a) other_thing'
    assert metrics_of(expression) == {"coordination_gone", "other_thing"}
    assert labels_of(expression) == [("state", "=", "x")]


@pytest.mark.parametrize("source", ["flights", "a.b-c", "x_source_coordinator_y"])
def test_statsd_names_become_one_metric_with_the_source_as_a_label(source):
    for name in (*Metric, *Gauge):
        assert mapped(f"airflow.{full_name(source, name)}") == (f"airflow_coordination_{name}", {"source": source})
    assert mapped("airflow.ti_successes") is None


def test_the_relabelling_for_opentelemetry_gives_the_same_names():
    """Its dots are underscores by then, and counters may end in _total."""
    block = re.search(r"```yaml\n(metric_relabel_configs:.*?)```", ALERTS_PAGE, re.S)
    [relabel] = yaml.safe_load(block[1])["metric_relabel_configs"]
    for name, end in itertools.product((*Metric, *Gauge), ("", "_total")):
        found = re.fullmatch(relabel["regex"], f"airflow_{full_name('flights', name)}{end}")
        assert relabel["replacement"].replace("${2}", found[2]) == f"airflow_coordination_{name}"


def test_rules_have_what_prometheus_requires():
    assert len({group["name"] for group in GROUPS}) == len(GROUPS)
    assert len({rule["alert"] for rule in RULES}) == len(RULES)
    for group in GROUPS:
        assert set(group) == {"name", "rules"}
    for rule in RULES:
        assert set(rule) - {"for"} == {"alert", "expr", "labels", "annotations"}
        assert re.fullmatch(r"[A-Z][A-Za-z]+", rule["alert"])
        assert DURATION.fullmatch(rule.get("for", "1m"))
        assert rule["labels"]["severity"] in {"warning", "critical"}
        assert set(rule["annotations"]) == {"summary", "runbook", "runbook_url"}


def test_every_rule_has_a_runbook_that_names_it_and_the_reverse():
    wanted = sorted((rule["annotations"]["runbook"], rule["alert"]) for rule in RULES)
    heads = {page: page.read_text().partition("**It means")[0] for page in RUNBOOKS}
    named = [(page, alert) for page, head in heads.items() for alert in re.findall(r"`(Coordination\w+)`", head)]
    assert sorted((str(page.relative_to(ROOT)), alert) for page, alert in named) == wanted


def test_a_runbook_has_an_address_that_alert_managers_show():
    """Where the pages are served is filled in by who serves them."""
    for rule in RULES:
        path = rule["annotations"]["runbook"].removeprefix("docs/").removesuffix(".md")
        assert rule["annotations"]["runbook_url"] == f"{PLACE}/{path}.html"
    assert PLACE in ALERTS_PAGE


def test_the_dashboard_leads_to_the_board():
    [link] = BOARD["links"]
    assert link["url"] == f"${{airflow}}/plugin/{ROUTES['nav']}"
    [airflow] = [each for each in BOARD["templating"]["list"] if each["name"] == "airflow"]
    assert airflow["type"] == "textbox"


def test_the_dashboard_shows_what_there_are_alerts_for():
    shown = {name for panel in BOARD["panels"] for target in panel["targets"] for name in metrics_of(target["expr"])}
    told = {name for rule in RULES for name in metrics_of(rule["expr"])}
    assert {name for name in told if name.startswith("coordination_")} <= shown


def test_the_page_of_alerts_lists_each_once():
    table = "\n".join(line for line in ALERTS_PAGE.splitlines() if line.startswith("| `Coordination"))
    assert sorted(re.findall(r"`(Coordination\w+)`", table)) == sorted(rule["alert"] for rule in RULES)


@pytest.mark.parametrize("page", RUNBOOKS, ids=lambda page: page.stem)
def test_a_runbook_says_what_it_means_where_to_look_what_to_do_and_when_it_is_over(page):
    text = page.read_text()
    means, look, over = (text.find(part) for part in ("**It means:**", "**Look", "**Over when**"))
    mend = min((place.start() for place in re.finditer(r"\*\*Mend|\| mend \|", text)), default=-1)
    assert -1 < means < look < mend < over
    assert commands(text), "a runbook without a command"


def test_the_dashboard_has_what_grafana_requires():
    assert {"uid", "title", "schemaVersion", "panels", "templating", "time"} <= set(BOARD)
    assert "id" not in BOARD, "Grafana gives it"
    ids = [panel["id"] for panel in BOARD["panels"]]
    assert len(ids) == len(set(ids))
    variables = {each["name"] for each in BOARD["templating"]["list"]}
    for panel in BOARD["panels"]:
        assert {"type", "title", "gridPos", "datasource", "targets", "fieldConfig", "options"} <= set(panel)
        assert len({target["refId"] for target in panel["targets"]}) == len(panel["targets"])
        assert set(re.findall(r"\$\{?(\w+)", json.dumps(panel))) <= variables


def test_no_two_panels_are_at_one_place():
    cells = set()
    for panel in BOARD["panels"]:
        at = panel["gridPos"]
        assert at["x"] + at["w"] <= 24
        own = set(itertools.product(range(at["x"], at["x"] + at["w"]), range(at["y"], at["y"] + at["h"])))
        assert not own & cells
        cells |= own


def commands(text: str) -> list[list[str]]:
    """Return the words of every command in code that begins with one of Airflow's or ours."""
    code = re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", text, flags=re.S))
    code += [line for block in re.findall(r"```bash\n(.*?)```", text, re.S) for line in block.splitlines()]
    found = []
    for line in code:
        if re.match(r"(airflow [a-z]|python -m airflow_coordination)", line):
            words = shlex.shlex(line, posix=True, punctuation_chars=True)
            words.whitespace_split = True
            found.append(list(itertools.takewhile(lambda word: not set(word) <= set("<>|&;()"), words)))
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_command_on_a_page_is_one(page, capsys):
    from airflow.cli.cli_parser import get_parser

    for words in commands(page.read_text()):
        try:
            if words[0] == "airflow":
                get_parser().parse_args(words[1:])
            else:
                parser().parse_args(words[3:])
        except SystemExit:
            pytest.fail(f"{shlex.join(words)}: {capsys.readouterr().err}")


def test_a_command_that_is_none_is_seen():
    """The check can fail, and stops at a redirection."""
    [words] = commands("`airflow coordination nonsense > file`")
    assert words == ["airflow", "coordination", "nonsense"]
    with pytest.raises(SystemExit):
        parser().parse_args(words[2:])


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool comes with Prometheus")
def test_prometheus_takes_the_rules_and_they_fire_when_they_should(tmp_path):
    test = tmp_path / "test.yaml"
    test.write_text(RULES_TEST.read_text().replace("RULES", str(RULES_FILE)))
    for command in (["check", "rules", RULES_FILE], ["test", "rules", test]):
        done = subprocess.run(["promtool", *map(str, command)], capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def test_every_rule_is_tried_by_the_file_for_promtool():
    """Also where promtool is not, a rule more must come with a case."""
    expected = {rule["alert"] for rule in RULES}
    assert set(re.findall(r'alertname="(\w+)"', RULES_TEST.read_text())) == expected
