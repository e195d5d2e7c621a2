"""Run the steps of one page in a process of its own: python run_page.py STEPS.json, in an empty directory."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path

DAG_IN = """
import gc, runpy, sys
from airflow.sdk import DAG
found = runpy.run_path(sys.argv[1])
dags = [each for each in gc.get_objects() if issubclass(type(each), DAG)]  # isinstance would open lazy proxies
tasks = [len(dag.task_ids) for dag in dags]
sys.exit(0 if tasks and all(tasks) else f"no DAG with tasks in {sys.argv[1]}")
"""


def printed(step, namespace):
    """Carry one step out and return what it printed."""
    if step["kind"] == "file":
        path = Path(step["name"])
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(step["text"])
        if path.parent.name == "dags":
            subprocess.run([sys.executable, "-c", DAG_IN, str(path)], check=True, stdout=subprocess.DEVNULL)
        return ""
    if step["kind"] == "shell":
        ran = subprocess.run(["bash", "-euc", step["text"]], check=False, stdout=subprocess.PIPE, text=True)
        if ran.returncode:
            sys.exit(f"the commands below line {step['line']} exit with {ran.returncode} after\n{ran.stdout[-3000:]}")
        return ran.stdout
    with redirect_stdout(io.StringIO()) as output:
        exec(compile("\n" * step["line"] + step["text"], "page", "exec"), namespace)
    return output.getvalue()


def bare(text):
    """Return a text without what nobody sees: blanks at line ends, empty lines at its end."""
    return "\n".join(line.rstrip() for line in text.strip("\n").splitlines())


def main(steps):
    """Run all steps in one namespace; stop at the first that prints something else than the page says."""
    namespace = {"__name__": "page"}
    for step in steps:
        output = printed(step, namespace)
        if step["prints"] is not None and bare(output) != bare(step["prints"]):
            sys.exit(f"line {step['line']} prints\n{output}\nbut the page says\n{step['prints']}")


if __name__ == "__main__":
    main(json.loads(Path(sys.argv[1]).read_text()))
