"""This package as it really was at three commits, each kept in an archive; nothing of them is today's code.

An archive holds what a worker without Airflow and Spark runs. ``python -m tests.integration.upgrade.frozen_packages``
makes the archives anew from git, with times and owners that are always the same. They are unpacked before they run:
migrations are files that Alembic looks for in a folder.
"""

from __future__ import annotations

import hashlib
import io
import lzma
import subprocess
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_FOLDER: Final = Path(__file__).parent / "frozen"
_PACKAGE: Final = "airflow_coordination"
_ROOMS: Final = ("leases", "outputs", "stores")
_MORE: Final = ("planning", "protocol", "systems", "values")


@dataclass(frozen=True, slots=True)
class Frozen:
    """The package of one commit.

    :param schema: the schema that it writes.
    :param commit: in this repository's history.
    :param digest: SHA-256 of the archive that is kept.
    :param rooms: what of the package is in it.
    """

    schema: int
    commit: str
    digest: str
    rooms: tuple[str, ...] = _ROOMS

    @property
    def archive(self) -> Path:
        """The archive that is kept."""
        return _FOLDER / f"schema-{self.schema}.tar.xz"

    def unpack(self, directory: Path) -> Path:
        """Write the package into a directory, and return what goes into ``PYTHONPATH``."""
        content = self.archive.read_bytes()
        assert hashlib.sha256(content).hexdigest() == self.digest, f"{self.archive.name} is another one"
        with tarfile.open(fileobj=io.BytesIO(content)) as archive:
            archive.extractall(directory, filter="data")
        return directory

    def kept(self) -> dict[str, bytes]:
        """Return the files in the archive, by name."""
        with tarfile.open(self.archive) as archive:
            return dict(_files(archive))

    def in_git(self) -> dict[str, bytes]:
        """Return the same files as git has them, in the order of their names.

        :raises LookupError: when this clone has not got the commit.
        """
        runs = [f"{_PACKAGE}/{name}" for name in ("__init__.py", *self.rooms)]
        command = ["git", "-c", "safe.directory=*", "archive", "--format=tar", self.commit, *runs]
        made = subprocess.run(command, cwd=_FOLDER.parents[3], capture_output=True, check=False)
        if made.returncode:
            raise LookupError(made.stderr.decode())
        with tarfile.open(fileobj=io.BytesIO(made.stdout)) as archive:
            return {name: content for name, content in sorted(_files(archive)) if name.endswith(".py")}

    def made(self) -> bytes:
        """Return the archive, made anew from git."""
        plain = io.BytesIO()
        with tarfile.open(fileobj=plain, mode="w", format=tarfile.USTAR_FORMAT) as archive:
            for name, content in self.in_git().items():
                member = tarfile.TarInfo(name)  # of 1970, and nobody's
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
        return lzma.compress(plain.getvalue(), preset=lzma.PRESET_EXTREME | 9)


def _files(archive: tarfile.TarFile) -> Iterator[tuple[str, bytes]]:
    for member in archive:
        if (file := archive.extractfile(member)) is not None:
            yield member.name, file.read()


FIRST: Final = Frozen(
    schema=1,
    commit="f51b982c5c93e58450149bf4bf7d2b3b694fc3d3",
    digest="26be9bb10fa7023ed5fa1f44a87c1a3d5d2dee71a7a05c163c7d4c7deab70ad7",
)
"""The last code of schema 1: limits do not travel, and it knows no history, pause, accounting, follow-up or parent."""
BEFORE: Final = Frozen(
    schema=9,
    commit="147c332b57576144c713bdfcf876b8e4196b1a05",
    digest="6e9f8e8825095f194ee020d54cefecd00b994c3972ea8720d36ef09f0b1f4749",
)
"""The version before this one: sources do not pause themselves, and owners name no Airflow."""
WITHOUT_VIEWS: Final = Frozen(
    schema=13,
    commit="d50f16fcfd7c62aef8c2697eb1046b61bfc0d48e",
    digest="977e6d60641d0edcdc36e59f81d8afed4ded6f41d53eacbf3dd57a09333b7c83",
    rooms=(*_ROOMS, *_MORE),
)
"""The last code that knows no documents, no branches and no hidden intervals; it looks through overlays."""
ALL: Final = (FIRST, BEFORE, WITHOUT_VIEWS)


def main() -> None:
    """Write the archives, and print their digests and sizes."""
    for each in ALL:
        content = each.made()
        each.archive.write_bytes(content)
        print(f"{each.archive.name}: {hashlib.sha256(content).hexdigest()}, {len(content):,} bytes")


if __name__ == "__main__":
    main()
