"""Explanations of why a partition is not moving: questions to the store, and one pure function over the answers."""
