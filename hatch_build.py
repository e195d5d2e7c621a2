"""What a package index is told: where the project lives, and README with links that work outside of the repository.

The addresses stand in one place, ``[tool.hatch.metadata.hooks.custom]`` in ``pyproject.toml``, which is empty until
somebody publishes. Hatchling calls this for each build; ``scripts/site`` uses the same for the pages.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from hatchling.metadata.plugin.interface import MetadataHookInterface

_CODE: Final = re.compile(r"(^```.*?^```$)", re.M | re.S)
_LINK: Final = re.compile(r"(?P<mark>!?)\[(?P<text>[^\[\]]*)\]\((?P<target>[^)\s]+)\)")
_STAYS: Final = re.compile(r"[a-z][a-z+.-]*:|#")
_KEYS: Final = ("documentation", "page", "raw", "repository")


class Addresses(NamedTuple):  # hatchling loads this file in a way that a dataclass does not bear
    """Where the project lives, as whoever publishes it has filled in.

    :param repository: address of the repository, without a slash at its end; empty where nobody has said one.
    :param documentation: address of the built pages, or empty.
    :param page: form of a file's address to look at, into which ``{repository}``, ``{tag}`` and ``{path}`` are put.
    :param raw: the same for what a page shows, as pictures.
    :param tag: the tag of this version.
    """

    repository: str
    documentation: str
    page: str
    raw: str
    tag: str

    def urls(self) -> dict[str, str]:
        """Return the addresses that an index shows beside the project, by their labels; none where none is known."""
        found = {"Documentation": self.documentation} if self.documentation else {}
        if not self.repository:
            return found
        files = {"Changelog": "CHANGELOG.md", "Security": "SECURITY.md"}
        return {
            **found,
            "Source": self.repository,
            "Issues": f"{self.repository}/issues",
            **{label: self.of(path) for label, path in files.items()},
        }

    def of(self, path: str, *, shown: bool = False) -> str:
        """Return the address of a file at the tag.

        :param path: from the root of the repository; an anchor may follow.
        :param shown: it is a picture in a page.
        """
        form = self.raw if shown else self.page
        return form.format(repository=self.repository, tag=self.tag, path=path)


def addresses(settings: Mapping[str, str], version: str) -> Addresses:
    """Return the addresses of a version.

    :param settings: the table in ``pyproject.toml``.
    :raises ValueError: for a key that is missing or unknown, an address that is none, a form that lacks a part.
    """
    values = {key: value for key, value in settings.items() if key != "path"}
    if values.keys() != set(_KEYS):
        raise ValueError(f"[tool.hatch.metadata.hooks.custom] has the keys {sorted(values)}: it wants {list(_KEYS)}")
    for key in ("repository", "documentation"):
        if values[key] and not re.fullmatch(r"https?://[^\s/]+(/[^\s/]+)*", values[key]):
            raise ValueError(f"{key} is {values[key]!r}: give an address without a slash at its end, or ''")
    for key in ("page", "raw"):
        if missing := [part for part in ("{repository}", "{tag}", "{path}") if part not in values[key]]:
            raise ValueError(f"{key} is {values[key]!r}: it lacks {', '.join(missing)}")
    return Addresses(**values, tag=f"v{version}")


def version_in(root: Path) -> str:
    """Return the version that the package in a tree says it has."""
    said = re.search(r'^__version__ = "(.+)"$', (root / "airflow_coordination" / "__init__.py").read_text(), re.M)
    assert said
    return said[1]


def known_in(root: Path) -> Addresses:
    """Return the addresses of the version in a tree, as whoever publishes has filled them in."""
    project = tomllib.loads((root / "pyproject.toml").read_text())
    return addresses(project["tool"]["hatch"]["metadata"]["hooks"]["custom"], version_in(root))


def relinked(text: str, changed: Callable[[re.Match[str]], str]) -> str:
    """Return a page with its relative links and pictures changed; blocks of code and anchors of the page stay.

    :param changed: is given a match with ``mark`` (``!`` of a picture), ``text`` and ``target``, and returns its like.
    """

    def of(match: re.Match[str]) -> str:
        return match[0] if _STAYS.match(match["target"]) else changed(match)

    return "".join(part if part.startswith("```") else _LINK.sub(of, part) for part in _CODE.split(text))


def from_the_root(match: re.Match[str], path: str, known: Addresses) -> str:
    """Return a link as one to a file of the tag; only its words where no repository is known.

    :param path: of the file, from the root of the repository; an anchor may follow.
    """
    mark, words = match["mark"], match["text"]
    if known.repository:
        return f"{mark}[{words}]({known.of(path, shown=bool(mark))})"
    return f"*{words}*" if mark else words


def for_outside(text: str, known: Addresses) -> str:
    """Return a page of the repository's root as it can be read elsewhere.

    Relative links lead to the files of the tag. Where no repository is known their words stay without a link, and of
    pictures what they say.
    """
    return relinked(text, lambda match: from_the_root(match, match["target"], known))


class CustomMetadataHook(MetadataHookInterface):
    """Adds the long description and the addresses."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set what ``pyproject.toml`` calls dynamic."""
        known = addresses(self.config, metadata["version"])
        text = for_outside((Path(self.root) / "README.md").read_text(), known)
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
        metadata["urls"] = known.urls()
