"""The engine that needs one of its own."""

from tests.integration.dynamodb.conftest import moto

__all__ = ["moto"]
