"""Build what is published, check it as an index does, and say what is left to do. Tags nothing, uploads nothing.

usage: python scripts/release/build.py [DIRECTORY]

By default the two files go into ``dist``, which is emptied before. What is built is the commit: with a change that is
not committed, or a file that git does not know, it is refused.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from hatch_build import known_in, version_in  # noqa: E402

BIN: Final = Path(sys.executable).parent
_WITHOUT: Final = ".git"
"""What git alone uses is not in the source package."""


class ReleaseError(Exception):
    """Something is not fit to be published; the message says what, and what to do."""


def _run(*command: str | Path, cwd: Path = ROOT) -> str:
    said = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    if said.returncode:
        raise ReleaseError(f"{' '.join(map(str, command))}\n{said.stdout}{said.stderr}")
    return said.stdout


def _git(*asked: str) -> str:
    return _run("git", "-c", "safe.directory=*", *asked)


def _clean() -> None:
    if changed := _git("status", "--porcelain"):
        raise ReleaseError(f"What is published is a commit, and these files are in none:\n{changed}Commit them first.")


def _built(place: Path) -> tuple[Path, Path]:
    """Return a source package, and a wheel that is made from it."""
    _run(BIN / "python", "-m", "build", "--no-isolation", "--outdir", place, ROOT)
    (source,), (wheel,) = place.glob("*.tar.gz"), place.glob("*.whl")
    return source, wheel


def _whole(source: Path) -> None:
    with tarfile.open(source) as archive:
        there = {member.name.partition("/")[2] for member in archive if member.isfile()} - {"PKG-INFO"}
    wanted = {name for name in _git("ls-files", "-z").split("\0") if name and not name.startswith(_WITHOUT)}
    if differs := (there - {".gitignore"}) ^ wanted:
        raise ReleaseError(f"The source package is not what git has: {sorted(differs)[:5]}. See pyproject.toml")


def _same_again(wheel: Path) -> None:
    """Refuse a wheel that the tree itself makes in another way than the source package."""
    with tempfile.TemporaryDirectory() as place:
        _run(BIN / "python", "-m", "build", "--wheel", "--no-isolation", "--outdir", place, ROOT)
        if Path(place, wheel.name).read_bytes() != wheel.read_bytes():
            raise ReleaseError("The wheel of the tree is another one than that of the source package")


def _looked_at(files: Sequence[Path], wheel: Path) -> None:
    _run(BIN / "twine", "check", "--strict", *files)
    _run(BIN / "check-wheel-contents", "--config", ROOT / "pyproject.toml", wheel)


def _installed(wheel: Path) -> None:
    """Refuse a wheel that does not run by itself, in an empty folder and with what it requires only."""
    with tempfile.TemporaryDirectory() as place:
        _run(BIN / "uv", "venv", "--quiet", "--python", sys.executable, "venv", cwd=Path(place))
        python = Path(place, "venv", "bin", "python")
        locked = ("--constraint", ROOT / "requirements" / "dev.txt")
        _run(BIN / "uv", "pip", "install", "--quiet", "--python", python, *locked, wheel, cwd=Path(place))
        _run(python, "-I", "-m", "airflow_coordination", "--help", cwd=Path(place))


def left() -> Iterator[str]:
    """Yield what whoever publishes has to do before, by the files as they are."""
    known = known_in(ROOT)
    if not known.repository:
        yield "Fill in where the project lives: [tool.hatch.metadata.hooks.custom] in pyproject.toml"
    heading = f"## [{version_in(ROOT)}]"
    dated = re.search(rf"^{re.escape(heading)} - \d{{4}}-\d\d-\d\d$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    if not dated:
        yield f"Give the version its day in CHANGELOG.md: {heading} - YYYY-MM-DD"
    if not _git("tag", "--points-at", "HEAD", "--list", known.tag):
        yield f"Tag the commit, and push the tag: git tag {known.tag}"


def release(place: Path) -> None:
    """Build, check and report.

    :param place: directory of the two files; what was in it goes.
    :raises ReleaseError: when something is not fit to be published.
    """
    _clean()
    with tempfile.TemporaryDirectory() as scratch:
        source, wheel = _built(Path(scratch))
        _whole(source)
        _same_again(wheel)
        _looked_at((source, wheel), wheel)
        _installed(wheel)
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        for file in (source, wheel):
            shutil.move(file, place / file.name)
            print(f"{hashlib.sha256((place / file.name).read_bytes()).hexdigest()}  {place / file.name}")
    for line in left():
        print(f"before you publish: {line}")
    print(f"then: twine upload {place}/*")


if __name__ == "__main__":
    try:
        release(Path(sys.argv[1]) if sys.argv[1:] else ROOT / "dist")
    except ReleaseError as error:
        raise SystemExit(f"Not fit to be published. {error}") from None
