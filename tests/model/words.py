"""What happened, in plain words."""

from __future__ import annotations

from tests.model.adversary import Label
from tests.model.state import ACQUISITIONS, ANY, CHAIN, CLEAR, FOLLOWED, HEAL, PEOPLE, STEERING, Item, Message, State


def said(label: Label, after: State) -> str:
    """Return one step of a trace, with the partition as it is after it."""
    parts = [piece.op + " " + piece.kind if isinstance(piece, Message) else str(piece) for piece in label]
    message = next((piece for piece in label if isinstance(piece, Message)), None)
    if label[0] == "is sent:" and message:
        return f"{message.op} {message.kind} is sent {names(message)}".rstrip()
    where = message.part if message and message.part != ANY else 0
    if message and message.kind in STEERING:
        return f"{' '.join(parts)} -> {'paused' if after.pauses[0].on else 'not paused'}"
    return f"{' '.join(parts)} -> {item_words(after.items[where])}"


def names(m: Message) -> str:
    """Return what a message's condition names."""
    if m.kind in CHAIN:
        return f"(fence {m.token}-{m.nonce}, prev {m.prev}, progress {m.since}->{m.progress})"
    if m.kind in ("renew", "adopt", "save_state"):
        return f"(fence {m.token}-{m.nonce})"
    if m.kind in PEOPLE or m.kind in ("reclaim", "reopen") or m.kind in ACQUISITIONS - {"acquire_query"}:
        return f"(saw {m.status}, fence {m.token}-{m.nonce}, last op {m.prev})"
    if m.kind == "refresh":
        return f"(saw generation {m.generation}, payload of {m.saw[0] or 'the creation'})"
    if m.kind == HEAL:
        return f"(partition {m.part}, of creation {m.prev or 'any'}, need not wait for {m.since})"
    if m.kind in (CLEAR, FOLLOWED):
        return f"(after {m.prev})"
    return f"(partition {m.part})" if m.part != ANY else ""


def item_words(item: Item) -> str:
    """Return an item in one line."""
    return (
        f"{item.status} fence {item.token}-{item.nonce or 'none'} last op {item.last_op or 'none'} "
        f"progress {item.progress} closed {item.closed}"
        f"{f' waits for {item.waits}' if item.waits else ''}{f' awaited {item.awaited}' if item.awaited else ''}"
        f"{' had finished' if item.finished else ''}"
    )
