"""Copies, planned: where each chunk is copied to, and which copies go, by rules, room and what can be read."""
