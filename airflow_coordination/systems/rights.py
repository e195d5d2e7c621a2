"""The rights of a process that finds notes: what it may do of what they say.

A note is an order, and everybody who works on partitions may write one into the store. So it is not the note that says
what a supplier's process does with its rights, but that process's own settings.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import SplitResult, unquote, urlsplit

from airflow_coordination.protocol.follow_up import Place, texts_in
from airflow_coordination.values.input_errors import InvalidInputError

_S3: Final = re.compile(r"s3[an]?://", re.ASCII)
KINDS: Final = ("objects", "queues", "servers", "urls")


@dataclass(frozen=True, slots=True)
class FollowUpRights:
    """The rights of a process to do what it finds in notes of ``then=``; without anything said, none.

    ``CreatePartitionsOperator`` has those of its supplier by itself: the objects below what an ``object_listing``
    lists, the queue of ``sqs_notifications``, the servers of ``kafka_ranges``, with their options.

    :param objects: objects below these may be deleted: a directory, or ``s3://bucket/prefix``, where a prefix is the
        beginning of a key, as in ``object_listing``.
    :param queues: messages of these queues may be deleted.
    :param servers: offsets may be committed at these servers of Kafka (``host:port``, several with commas).
    :param urls: these may be called, and what is below them.
    :param options: more options of librdkafka's client for ``servers``; they may be secret, and are not shown.
    :param output_root: below it are lists that are too long for a note.
    :raises InvalidInputError: naming what is no text, or no list of texts.
    """

    objects: Sequence[str] = ()
    queues: Sequence[str] = ()
    servers: Sequence[str] = ()
    urls: Sequence[str] = ()
    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    output_root: str | None = None
    everything: bool = field(default=False, repr=False, kw_only=True)

    def __post_init__(self) -> None:
        for name in KINDS:
            given = getattr(self, name)
            listed = texts_in(given)
            if given and not listed:
                raise InvalidInputError(name, given, "is no address, or list of addresses", "Give texts")
            object.__setattr__(self, name, listed)

    @classmethod
    def of_a_person(cls, options: Mapping[str, str] | None = None) -> FollowUpRights:
        """Return the right to do all that notes say, for somebody who has read them.

        :param options: see above.
        """
        return cls(options=options or {}, everything=True)

    def __or__(self, other: FollowUpRights) -> FollowUpRights:
        """Return what either allows; of options and output root the first that are said."""
        both = {name: (*getattr(self, name), *getattr(other, name)) for name in KINDS}
        root, everything = self.output_root or other.output_root, self.everything or other.everything
        return FollowUpRights(**both, options=self.options or other.options, output_root=root, everything=everything)

    def with_those_of(self, supplier: object, output_root: str | None) -> FollowUpRights:
        """Return these and what a supplier allows by itself.

        :param output_root: that of the process, where these name none.
        """
        own = getattr(supplier, "follow_up_rights", NO_RIGHTS)
        both = self | own if isinstance(own, FollowUpRights) else self
        return both | FollowUpRights(output_root=output_root)

    def allow(self, place: Place) -> bool:
        """Return whether a place may be touched."""
        if self.everything:
            return True
        given: Sequence[str] = getattr(self, place.kind)
        if place.kind == "queues":
            return place.address in given
        if place.kind == "servers":
            known = [set(each.split(",")) for each in given]
            return any(set(place.address.split(",")) <= each for each in known)
        fits = _is_below if place.kind == "objects" else _is_called
        return any(fits(place.address, each) for each in given)

    def allow_list(self, address: str, directory: str) -> bool:
        """Return whether the file of a long note may be read.

        :param address: which the note names.
        :param directory: of the partition's lists, relative to an output root.
        """
        if self.everything:
            return True
        if self.output_root is None:
            return False
        name = posixpath.basename(address)
        return name.endswith(".json") and _plain(address) == _plain(posixpath.join(self.output_root, directory, name))


def _is_below(address: str, base: str) -> bool:
    """Return whether an object is below a directory or prefix, wherever links and dots lead."""
    if "::" in address:  # fsspec chains storages with it
        return False
    if _S3.match(base):
        bucket, _, _ = (wanted := _plain(base)).removeprefix("s3://").partition("/")
        return _plain(address).startswith(wanted if wanted != f"s3://{bucket}" else f"{wanted}/")
    if "://" in base:
        inside = address.startswith(base.rstrip("/") + "/")
        return inside and not {"..", "."}.intersection(unquote(address).split("/"))
    if "://" in address or address.startswith("file:"):
        return False
    directory, name = os.path.split(address)
    found = os.path.join(os.path.realpath(directory), name)
    return name not in ("", ".", "..") and found.startswith(os.path.join(os.path.realpath(_local(base)), ""))


def _is_called(url: str, base: str) -> bool:
    try:
        found, wanted = urlsplit(url), urlsplit(base)
        same = _host(found) == _host(wanted)
    except ValueError:
        return False
    if not same or {"..", "."}.intersection(unquote(found.path).replace("\\", "/").split("/")):
        return False
    return found.path == wanted.path or found.path.startswith(wanted.path.rstrip("/") + "/")


def _host(parts: SplitResult) -> tuple[str, str | None, int | None]:
    standard = {"http": 80, "https": 443}.get(parts.scheme)
    return parts.scheme, parts.hostname, parts.port or standard


def _plain(address: str) -> str:
    """Return an address of S3 under one scheme, and any other as it is."""
    return _S3.sub("s3://", address, count=1) if _S3.match(address) else address


def _local(base: str) -> str:
    return "/" + base.removeprefix("file:").lstrip("/") if base.startswith("file:") else base


NO_RIGHTS: Final = FollowUpRights()


def rights_given(given: FollowUpRights | None) -> FollowUpRights:
    """Return the rights that were given, none for ``None``.

    :raises InvalidInputError: for anything else.
    """
    if given is not None and not isinstance(given, FollowUpRights):
        raise InvalidInputError("follow_up_rights", given, "is no rights", "Give FollowUpRights(objects=…, urls=…)")
    return given or NO_RIGHTS
