"""Write what the docs take from the code between their markers, or check that it is fresh.

usage: python scripts/docs_generate.py [--check]

A page names what it wants: ``<!-- from the code: NAME -->`` … ``<!-- end -->``; the text between is replaced.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields
from datetime import timedelta
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from airflow_coordination.get_provider_info import get_provider_info
from airflow_coordination.planning.duties.configuration import KEYS, MEANINGLESS
from airflow_coordination.planning.duties.keys import BUILT_IN, KNOWN, PREFIX
from airflow_coordination.planning.duties.keys import MEANINGLESS as DO_NOTHING
from airflow_coordination.protocol import metrics
from airflow_coordination.protocol.transitions import diagram
from airflow_coordination.submission.credential_routes import MATRIX, MODES, REMEDIES, Opens
from airflow_coordination.values import errors
from airflow_coordination.values.settings import Settings
from scripts.docs_limits import LIMITS, TIMERS, Constant
from scripts.docs_promises import PROMISES
from tests.matrix import results as matrix
from tests.sent.table import read
from tests.sent.viewing import OPERATIONS

ROOT = Path(__file__).resolve().parent.parent
MARKED = re.compile(r"(?P<open><!-- from the code: (?P<name>[\w -]+) -->\n)(?P<text>.*?)(?P<close><!-- end -->)", re.S)


def table(*heads: str, rows: Iterable[Iterable[str]]) -> str:
    """Return a Markdown table."""
    lines = [heads, ["---"] * len(heads), *rows]
    escaped = [[cell.replace("|", "\\|") for cell in line] for line in lines]
    return "".join(f"| {' | '.join(line)} |\n" for line in escaped)


def shown(value: object) -> str:
    """Return a default as people read it."""
    if value is None:
        return "none"
    if isinstance(value, timedelta):
        return _duration(value.total_seconds())
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return str(value)


def _duration(seconds: float) -> str:
    for size, unit in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= size and seconds % size == 0:
            count = int(seconds // size)
            return f"{count} {unit}{'s' if count > 1 else ''}"
    return f"{seconds:g} seconds"


def state_diagram() -> str:
    """Return the state table as a diagram."""
    return f"```mermaid\n{diagram()}```\n"


def params(docstring: str | None) -> dict[str, str]:
    """Return the ``:param x:`` texts of a docstring."""
    found = re.findall(r":param (\w+): (.*?)(?=\n\s*:|\Z)", inspect.cleandoc(docstring or ""), re.S)
    return {name: " ".join(text.split()) for name, text in found}


def parsed(module: str) -> ast.Module:
    """Return the syntax tree of a module of the package: read, not imported, because some need Airflow."""
    return ast.parse((ROOT / "airflow_coordination" / (module.replace(".", "/") + ".py")).read_text())


def constant(module: str, name: str) -> object:
    """Return the value of a constant whose expression is numbers and durations."""
    for node in parsed(module).body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if any(isinstance(target, ast.Name) and target.id == name for target in targets) and node.value:
            return eval(compile(ast.Expression(node.value), module, "eval"), {"timedelta": timedelta})
    raise LookupError(f"{module}.{name}")


def settings() -> str:
    """Return every setting with its default."""
    texts = params(Settings.__doc__)
    rows = [(f"`{field.name}`", shown(field.default), code(texts[field.name])) for field in fields(Settings)]
    return table("setting", "default", "meaning", rows=rows)


def code(text: str) -> str:
    """Return a docstring's text as Markdown."""
    return re.sub(r"``(.+?)``", r"`\1`", text).rstrip(".")


def constants(listed: Iterable[Constant]) -> Callable[[], str]:
    """Return a writer of a table of constants."""
    return lambda: table("what", "value", "name in the code", rows=[_constant(each) for each in listed])


def _constant(listed: Constant) -> tuple[str, str, str]:
    value = listed.shown(constant(listed.module, listed.name))
    return listed.meaning, value, f"`{listed.module}.{listed.name}`"


FIRST_SET = ("source", "hint", "coordination_conn_id", "output_root", "max_leases", "concurrent_leases", "on_empty",
             "ownership_timeout", "max_failures", "retry_delay_of_partition", "max_runtime", "on_clear")  # fmt: skip
"""The arguments of leased work that people set first; the others stand in a table below."""


def arguments(module: str, name: str, which: Callable[[str], bool] = bool) -> Callable[[], str]:
    """Return a writer of a table of a class's arguments.

    :param which: of the name of an argument: whether it stands in this table.
    """

    def write() -> str:
        found = next(node for node in parsed(module).body if isinstance(node, ast.ClassDef) and node.name == name)
        told = params(ast.get_docstring(found))
        rows = [(f"`{argument}`", code(text)) for argument, text in told.items() if which(argument)]
        return table("argument", "meaning", rows=rows)

    return write


def full_names(kind: str, names: Iterable[metrics.Metric | metrics.Gauge]) -> Callable[[], str]:
    """Return a writer of metrics or gauges with their full names for a source named flights."""
    rows = [(f"`{name}`", f"`{metrics.full_name('flights', name)}`") for name in names]
    return lambda: table(kind, "full name for the source `flights`", rows=rows)


def printed_metrics() -> str:
    """Return what the command ``metrics`` prints."""
    from airflow_coordination.cli.subcommands.metrics import FAMILIES

    return table("metric", "meaning", rows=[(f"`{family.name}`", family.help) for family in FAMILIES])


def error_tree() -> str:
    """Return the tree in the docstring of ``leases.errors``."""
    return (
        "```text\n" + inspect.cleandoc(re.search(r"::\n\n(.*?)\n\n(?=\S)", errors.__doc__ or "", re.S)[1]) + "\n```\n"
    )


def options() -> str:
    """Return the options of Airflow's section ``[coordination]``."""
    found = get_provider_info()["config"]["coordination"]["options"]
    rows = [
        (f"`{name}`", f"`{option['default']}`" if option["default"] else "empty", option["description"].rstrip("."))
        for name, option in found.items()
    ]
    return table("option", "default", "meaning", rows=rows)


def deploy_modes() -> str:
    """Return every way to submit."""
    rows = [
        (f"`{mode.master}`", mode.deploy_mode, mode.driver, mode.watched, "ran here" if mode.ran else "not run here")
        for mode in MODES
    ]
    return table("master", "deploy mode", "the driver runs", "its end is learnt from", "on a real Spark", rows=rows)


def credentials() -> str:
    """Return which way a store takes, by where the driver runs."""
    rows = [(opens, *(MATRIX[driver][opens] for driver in MATRIX)) for opens in Opens]
    return table("what opens the store", *(f"driver {driver}" for driver in MATRIX), rows=rows)


def remedies() -> str:
    """Return what to do about what is refused."""
    rows = [(driver, opens, remedy) for (driver, opens), remedy in REMEDIES.items()]
    return table("driver", "what opens the store", "what to do", rows=rows)


def connection_fields() -> str:
    """Return the extra fields of the connection type."""
    connection = next(
        each for each in get_provider_info()["connection-types"] if each["connection-type"] == "coordination"
    )
    standard = [(f"`{name}`", label) for name, label in connection["ui-field-behaviour"]["relabeling"].items()]
    extra = [
        (f"extra `{name}`", field.get("description") or field["label"])
        for name, field in connection["conn-fields"].items()
    ]
    return table("field", "holds", rows=[(name, text.rstrip(".")) for name, text in standard + extra])


def commands() -> str:
    """Return the commands with their options."""
    from airflow_coordination.cli.commands import COMMANDS, GROUPS

    named = [(each.name, each) for each in COMMANDS] + [
        (f"{group} {each.name}", each) for group, (_, those) in GROUPS.items() for each in those
    ]
    rows = [
        (f"`{name}`", each.help, " ".join(f"`{_flag(option.flags)}`" for option in each.options))
        for name, each in named
    ]
    return table("command", "does", "arguments and options", rows=rows)


def configuration_keys() -> str:
    """Return the keys of the duties' configuration."""
    rows = [
        (f"`{key.name}`", f"`{json.dumps(key.default)}`", f"{key.means.rstrip('.')}{'; not of Druid' * key.ours}")
        for key in KEYS.values()
    ]
    return table("key", "default", "meaning", rows=rows)


def meaningless_keys() -> str:
    """Return Druid's keys that mean nothing here."""
    rows = [(f"`{name}`", reason) for name, reason in MEANINGLESS.items()]
    return table("key of Druid's", "why it means nothing here", rows=rows)


def duty_properties() -> str:
    """Return the properties that have a meaning, with their defaults."""
    rows = [
        (f"`{PREFIX}{key}`", f"`{each.default}`" if each.default else "empty", each.means)
        for key, each in KNOWN.items()
    ]
    return table("property", "default", "meaning", rows=rows)


def duty_groups() -> str:
    """Return the built-in groups."""
    rows = [
        (f"`{name}`", group.period, ", ".join(f"`{duty}`" for duty in group.duties)) for name, group in BUILT_IN.items()
    ]
    return table("group", "every", "duties, in their order", rows=rows)


def meaningless_properties() -> str:
    """Return the beginnings of Druid's properties that mean nothing here."""
    rows = [(f"`{PREFIX}{beginning}`", reason) for beginning, reason in DO_NOTHING.items()]
    return table("properties that begin so", "why they do nothing here", rows=rows)


def promises() -> str:
    """Return each promise in one line."""
    return table("", "promise", rows=PROMISES.items())


def what_is_sent() -> str:
    """Return what the operations of a page of DynamoDB cost, as they were counted."""
    rows, columns = read(), ("DynamoDB", "DynamoDB, KiB", "read", "written", "written, theirs")
    named = [(each.name, rows.get(each.name, {})) for each in OPERATIONS if not each.sql_only]
    heads = ("operation", "requests", "KiB", "read", "units, our table", "units, Data Prepper's table")
    return table(*heads, rows=[(name, *(row.get(column, "") for column in columns)) for name, row in named])


def _flag(flags: tuple[str, ...]) -> str:
    return flags[-1] if flags[-1].startswith("-") else flags[-1].upper()


WRITERS: dict[str, Callable[[], str]] = {
    "state diagram": state_diagram,
    "settings": settings,
    "timers": constants(TIMERS),
    "limits": constants(LIMITS),
    "metrics": full_names("metric", metrics.Metric),
    "gauges": full_names("gauge", metrics.Gauge),
    "printed metrics": printed_metrics,
    "error tree": error_tree,
    "options": options,
    "connection fields": connection_fields,
    "commands": commands,
    "configuration keys": configuration_keys,
    "meaningless keys": meaningless_keys,
    "duty groups": duty_groups,
    "duty properties": duty_properties,
    "meaningless properties": meaningless_properties,
    "deploy modes": deploy_modes,
    "credentials": credentials,
    "remedies": remedies,
    "what is sent": what_is_sent,
    "matrix": matrix.table,
    "matrix in short": matrix.sentence,
    "promises": promises,
    "CreatePartitionsOperator": arguments("operators.create_partitions", "CreatePartitionsOperator"),
    "PlanCompactionOperator": arguments("operators.plan_compaction", "PlanCompactionOperator"),
    "BeginBranchOperator": arguments("operators.branches", "BeginBranchOperator"),
    "PublishBranchOperator": arguments("operators.branches", "PublishBranchOperator"),
    "RunDutiesOperator": arguments("operators.duties", "RunDutiesOperator"),
    "PartitionsSensor": arguments("sensors.partitions", "PartitionsSensor"),
    "DatasetAvailableSensor": arguments("sensors.dataset", "DatasetAvailableSensor"),
    "ClaimablePartitionsTrigger": arguments("triggers.claimable", "ClaimablePartitionsTrigger"),
    "LeasedOperator": arguments("operators.leased_operator", "LeasedOperator", FIRST_SET.__contains__),
    "LeasedOperator further": arguments(
        "operators.leased_operator", "LeasedOperator", lambda name: name not in FIRST_SET
    ),
    "LeasedSparkSubmitOperator": arguments("operators.spark_submit", "LeasedSparkSubmitOperator"),
    "LeasedPySparkOperator": arguments("operators.pyspark", "LeasedPySparkOperator"),
}


def fresh(text: str) -> str:
    """Return a page with all its marked parts as the code has them now."""
    return MARKED.sub(lambda match: match["open"] + WRITERS[match["name"]]() + match["close"], text)


def stale() -> Iterator[tuple[Path, str]]:
    """Yield each page that differs from what the code says, with its fresh text."""
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))):
        text = page.read_text()
        if (new := fresh(text)) != text:
            yield page, new


def main(check: bool) -> int:
    """Write or check; return the exit code."""
    pages = list(stale())
    for page, text in pages:
        print(f"{'stale' if check else 'written'}: {page.relative_to(ROOT)}")
        if not check:
            page.write_text(text)
    return int(check and bool(pages))


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
