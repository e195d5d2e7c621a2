"""The directories of attempts, named by hashes and fences, never by a key as it is (promise X5).

::

    <output root>/_attempts/_partition=<hash>-<slug>/_attempt=<fence>-<process>/_block=<dataset>-<n>/

The names have the form ``column=value`` so that Spark can read any number of blocks with partition columns
in one scan from ``_attempts`` on, which is as far up as it then looks for columns.
"""

from __future__ import annotations

import hashlib
import re

from airflow_coordination.systems.objects.storage import join
from airflow_coordination.values.fence import Fence

ATTEMPTS = "_attempts"
PARTITION, ATTEMPT, BLOCK = "_partition", "_attempt", "_block"
LAYOUT_COLUMNS = (PARTITION, ATTEMPT, BLOCK)
MANIFEST = "_manifest.json"
MARKER = "_attempt.json"
_READABLE = 40
_LEVELS_BELOW_A_PARTITION = 3
_SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


def slug(text: str) -> str:
    """Return the readable part of a name: letters, digits, ``.``, ``-`` and ``_`` only, at most 40."""
    return re.sub(r"[^A-Za-z0-9._-]+", "_", text)[:_READABLE].strip("._")


def partition_directory(source: str, key: str) -> str:
    """Return the name of a partition's directory: 96 bits of a hash and a readable slug.

    :param source: the stored source identifier.
    :param key: any partition key.
    """
    digest = hashlib.sha256(f"{len(source)}|{source}|{key}".encode()).hexdigest()[:24]
    return f"{PARTITION}={digest}-{slug(key)}"


def attempt_directory(fence: Fence, process: str) -> str:
    """Return the name of the directory of one driver process under one fence."""
    return f"{ATTEMPT}={fence}-{process}"


def block_directory(dataset: str, number: int) -> str:
    """Return the name of a block's directory."""
    readable = (
        dataset if _SAFE.fullmatch(dataset) else f"{hashlib.sha256(dataset.encode()).hexdigest()[:12]}-{slug(dataset)}"
    )
    return f"{BLOCK}={readable}-{number}"


def attempts_root(output_root: str) -> str:
    """Return the directory that all attempts below an output root share."""
    return join(output_root, ATTEMPTS)


def place_of(block: str) -> str:
    """Return what names a block whatever its root is called: the directories of partition, attempt and block.

    One place has many addresses (``s3://`` and ``s3a://``, symbolic links, two names of one server). An attempt's
    directory has a fence and a random suffix in its name, so that no other place has these three.

    :param block: the address of a block's directory.
    """
    return "/".join(block.split("/")[-_LEVELS_BELOW_A_PARTITION:])


def is_manifest_of(address: str, source: str, key: str) -> bool:
    """Return whether an address is that of a manifest in a partition's own directory, below whatever root."""
    root, found, inside = address.rpartition(f"/{ATTEMPTS}/{partition_directory(source, key)}/")
    parts = inside.split("/")
    return (
        bool(found)
        and len(parts) == _LEVELS_BELOW_A_PARTITION
        and parts[0].startswith(f"{ATTEMPT}=")
        and parts[1].startswith(f"{BLOCK}=")
        and parts[2] == MANIFEST
        and not {".", ".."}.intersection(root.split("/"))
    )


def is_below(path: str) -> bool:
    """Return whether a relative path stays below the directory that it is relative to."""
    return not {"", ".", ".."}.intersection(path.split("/"))


def is_data(path: str) -> bool:
    """Return whether a file, by its path inside a block, is data: Spark's own rule for hidden files."""
    return not any(
        part.startswith(".") or (part.startswith("_") and "=" not in part) or part.endswith("._COPYING_")
        for part in path.split("/")
    )


def hides_rows(path: str) -> bool:
    """Return whether a file is hidden by the name or value of a partition column, so that its rows would be missed."""
    parts = path.split("/")
    return is_data(parts[-1]) and any("=" in part and not is_data(part) for part in parts[:-1])


def is_hidden_by_name(path: str, file_format: str) -> bool:
    """Return whether a file looks like one of a format and only its own name hides it, not a directory of a job."""
    directory, _, name = path.rpartition("/")
    extension = {"text": "txt"}.get(file_format, file_format)
    looks_like_it = f".{extension}" in name.lower() and not name.endswith((".crc", "._COPYING_"))
    return looks_like_it and not is_data(name) and (not directory or is_data(directory))
