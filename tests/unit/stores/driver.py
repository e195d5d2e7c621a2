"""What stands for a database driver."""

from __future__ import annotations


class Driver:
    """Stands for a driver's connection."""

    def __init__(self) -> None:
        self.closed = False

    def cursor(self) -> object:
        return object()

    def close(self) -> None:
        self.closed = True
