"""The package of ``docs/how-to/own-store.md``: a store from elsewhere, built and installed as its users do."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

from tests.docs.pages import ROOT, steps

PAGE = ROOT / "docs" / "how-to" / "own-store.md"
SCHEME = "mystore"


@dataclass(frozen=True)
class Package:
    """A built distribution.

    :param wheel: its wheel, named as a zip, so that Spark takes it, too.
    :param site: a directory in which it is installed.
    """

    wheel: Path
    site: Path


def build_package(directory: Path, scheme: str = SCHEME, name: str = "my-store") -> Package:
    """Build the page's package, which registers ``scheme``, and install it below ``directory``."""
    source = directory / "my-store"
    source.mkdir()
    for step in steps(PAGE):
        if step["kind"] == "file" and step["name"].startswith("my-store/"):
            text = step["text"].replace(f"{SCHEME} = ", f"{scheme} = ").replace('"my-store"', f'"{name}"')
            (directory / step["name"]).write_text(text)
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(directory), str(source)]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    [built] = directory.glob("*.whl")
    package = Package(built.rename(directory / "my_store.zip"), directory / "site")
    with zipfile.ZipFile(package.wheel) as wheel:  # what an installer does with a wheel of Python files only
        wheel.extractall(package.site)
    return package
