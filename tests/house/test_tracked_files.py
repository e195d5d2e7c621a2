"""What a clone holds: nothing of the machine it was made on, and pins that name no host."""

from __future__ import annotations

import re
import tomllib

import pytest

from tests.house.tree import ROOT, tracked_files

# Written in pieces, so that this file is no exception.
MACHINE = re.compile(
    "|".join(
        [
            r"(?<![\w.])/" + "work/(main|shared|" + r"\.library)",
            r"(?<![\w.])/" + r"root/(?!\.m2)",
            "/tmp/" + r"(house|env|bash_)",
            "files\\." + "pythonhosted",
            r"\b" + r"pypi\." + "org",
            "registry\\." + "npmjs",
            "proxy\\." + "golang",
            "repo1?\\." + "maven",
            r"\bdeb\." + "debian",
        ]
    )
)
LOCKS = tuple(f"requirements/{name}.txt" for name in ("dev", "uv", "bench", "compose", "docs", "iceberg", "image"))


def test_no_file_names_a_registry_s_host_or_a_path_of_one_machine():
    """They would be wrong everywhere else."""
    named = []
    for path in tracked_files():
        text = path.read_bytes().decode("utf-8", errors="ignore")
        named += [f"{path.relative_to(ROOT)}: {match.group()}" for match in MACHINE.finditer(text)]
    assert named == []


@pytest.mark.parametrize("lock", LOCKS)
def test_lock_pins_every_package_by_hash_and_names_no_place(lock):
    """What is installed is what was tested, wherever it comes from."""
    text = re.sub(r"^\s*#.*\n", "", (ROOT / lock).read_text(), flags=re.MULTILINE)
    entries = [entry for entry in re.split(r"\n(?=\S)", text) if entry.strip()]
    pinned = re.compile(r"[\w.-]+(\[[\w,-]+\])?==\S+( ; [^\\\n]+)? \\\n")
    loose = [entry.split()[0] for entry in entries if not pinned.match(entry)]
    unhashed = [entry.split()[0] for entry in entries if "--hash=sha256:" not in entry]
    assert (loose, unhashed) == ([], [])
    assert not re.search(r"://|--index|--find-links|@ ", text)


def test_pyspark_and_its_client_are_an_equal_pair():
    """They install into one folder: different versions overwrite each other's files."""
    pins = dict(re.findall(r"^(pyspark|pyspark-client)==(\S+)", (ROOT / LOCKS[0]).read_text(), re.MULTILINE))
    assert pins["pyspark"] == pins["pyspark-client"]


def test_i1_both_extras_end_at_one_equal_pair():
    """I1: without an upper bound pip takes the newest of each, and most versions of pyspark have no equal client."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    bounds = dict(
        re.findall(
            r"(pyspark|pyspark-client)(?:\[sql\])?>=4\.0,<=([\d.]+)",
            " ".join(" ".join(lines) for lines in extras.values()),
        )
    )
    pins = dict(re.findall(r"^(pyspark|pyspark-client)==(\S+)", (ROOT / LOCKS[0]).read_text(), re.MULTILINE))
    assert bounds == pins


def test_the_installer_s_own_lock_is_the_development_lock_s():
    """uv comes first and must not be replaced a moment later."""
    alone, among_all = ((ROOT / lock).read_text() for lock in (LOCKS[1], LOCKS[0]))
    pin = re.search(r"^uv==\S+", alone, re.MULTILINE)
    assert pin
    assert re.search(rf"^{re.escape(pin.group())}\b", among_all, re.MULTILINE)


def test_every_dependency_of_the_package_is_in_the_lock():
    """An extra that CI never installs is an extra that nobody has tried."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = sum(project["optional-dependencies"].values(), list(project["dependencies"]))
    names = {re.match(r"[\w.-]+", requirement).group().lower() for requirement in wanted}
    names.discard(project["name"])  # an extra of ours in another
    locked = set(re.findall(r"^([\w.-]+?)(?:\[[\w,-]+\])?==", (ROOT / LOCKS[0]).read_text(), re.MULTILINE))
    assert names - locked == set()


def test_small_x8_the_images_pip_checks_hashes():
    """X8: it took what there was on the day."""
    installs = re.findall(r"pip install (.+)", (ROOT / "docker/Dockerfile").read_text())
    assert installs
    assert [line for line in installs if not {"--require-hashes", "--no-deps"} & set(line.split())] == []
