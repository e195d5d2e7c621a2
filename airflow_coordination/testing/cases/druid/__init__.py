"""Cases of what Druid's Coordinator decides: a file with ``meta`` and ``cases``, each run by its area.

What a case asks goes by the keys of its ``given`` and ``expect``, never by its id.
"""
