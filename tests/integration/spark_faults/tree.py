"""What is below an output root, and which of it the head records name: told by the files alone, not by our readers."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from airflow_coordination.protocol.port import PartitionStore


@dataclass(frozen=True)
class Tree:
    """Everything below an output root, as it was at one moment."""

    paths: frozenset[Path]

    @classmethod
    def of(cls, root: str) -> Tree:
        return cls(frozenset(Path(root).rglob("*")))

    @property
    def blocks(self) -> set[Path]:
        """The directories of blocks, empty ones, too."""
        return {path for path in self.paths if path.name.startswith("_block=")}

    def only(self, blocks: set[Path]) -> Tree:
        """Return the tree with these blocks alone: what is in them, what they are in, and the markers beside them."""
        kept = {path for path in self.paths if blocks & {path, *path.parents}}
        around = {above for block in blocks for above in block.parents}
        markers = {block.parent / "_attempt.json" for block in blocks}
        return Tree(frozenset(kept | (self.paths & (around | markers))))


def named(store: PartitionStore, source: str) -> set[Path]:
    """Return the directories of the blocks that head records name, directly or as predecessors."""
    open_ends = [block.address for head in store.heads(source) for block in head.blocks]
    found = set()
    while open_ends:
        manifest = Path(open_ends.pop())
        found.add(manifest.parent)
        if follows := json.loads(manifest.read_text())["follows"]:
            open_ends.append(follows[0])
    return found
