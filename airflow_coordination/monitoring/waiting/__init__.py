"""Waiting on a source: one look at it, and what a sensor concludes from several."""
