"""Spark itself, with no lease in sight: sessions, jobs, paths, and the archive that brings our code."""
