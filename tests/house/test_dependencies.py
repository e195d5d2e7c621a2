"""What the package imports is declared, and what is declared is used."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from tests.house.tree import PACKAGE, ROOT, imported, is_standard

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
BASE = PROJECT["dependencies"]
EXTRAS = [
    line
    for lines in PROJECT["optional-dependencies"].values()
    for line in lines
    if not line.startswith(f"{PROJECT['name']}[")  # an extra of ours in another
]
MODULES = sorted(PACKAGE.rglob("*.py"))
BY_NAME = {"s3fs", "aiobotocore"}
"""fsspec loads s3fs for ``s3://``. aiobotocore's lower bound keeps pip from trying all that there ever was."""


def distribution(requirement: str) -> str:
    """Return the name of a requirement's distribution, as all spellings of it agree."""
    return re.sub(r"[-_.]+", "-", re.split(r"[\[<>=!~; ]", requirement, maxsplit=1)[0]).lower()


DECLARED = {distribution(line) for line in (*BASE, *EXTRAS)}


@cache
def installed_as() -> dict[str, list[str]]:
    """Return the distributions of each top-level package."""
    return {top: [distribution(each) for each in found] for top, found in packages_distributions().items()}


def providers(name: str) -> set[str]:
    """Return the distributions that a module may come from: parts of Airflow share one top-level package."""
    parts = name.split(".")
    if parts[:2] == ["airflow", "providers"]:
        found = {distribution("-".join(["apache-airflow-providers", *parts[2:end]])) for end in (3, 4, 5)}
        return found & set(installed_as()["airflow"])
    return {"apache-airflow"} if parts[0] == "airflow" else set(installed_as().get(parts[0], ()))


def foreign_imports(modules: list[Path]) -> Iterator[tuple[str, str]]:
    """Yield where something is imported that is neither ours nor of the standard library, and what."""
    for module in modules:
        for line, name in imported(module):
            if not is_standard(name) and name.partition(".")[0] != PACKAGE.name:
                yield f"{module.relative_to(ROOT)}:{line}", name


def test_every_imported_distribution_is_declared() -> None:
    """Also what Airflow brings along today: it may leave it out tomorrow."""
    lacking = [
        f"{where} imports {name}{'' if providers(name) else ', which .venv lacks: run scripts/make_venv.sh'}"
        for where, name in foreign_imports(MODULES)
        if not providers(name) & DECLARED
    ]
    assert lacking == []


def test_every_declared_distribution_is_imported() -> None:
    """A name in pyproject.toml that nobody needs is installed by everybody."""
    used = {each for _, name in foreign_imports(MODULES) for each in providers(name)}
    assert DECLARED - used == BY_NAME


def test_the_spark_provider_has_an_upper_bound() -> None:
    """Its private names may change with its next major version."""
    [line] = [line for line in EXTRAS if distribution(line) == "apache-airflow-providers-apache-spark"]
    assert re.search(r"<\d+$", line)


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("airflow.sdk.definitions.context", {"apache-airflow"}),
        ("airflow.providers.apache.spark.hooks.spark_submit", {"apache-airflow-providers-apache-spark"}),
        ("airflow.providers.common.compat.sdk", {"apache-airflow-providers-common-compat"}),
        ("yaml", {"pyyaml"}),
        ("nowhere.at.all", set()),
    ],
)
def test_where_a_module_comes_from(name: str, found: set[str]) -> None:
    """The check can fail."""
    assert providers(name) == found
