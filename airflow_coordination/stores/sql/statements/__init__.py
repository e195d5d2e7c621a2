"""The statements, one for each transition, in the SQL that SQLite and PostgreSQL share.

What differs between the two is in :class:`Dialect`. Parameters are written ``:name``.
"""
