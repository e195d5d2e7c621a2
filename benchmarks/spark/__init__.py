"""Spark: what reading and draining cost beside the same by hand."""
