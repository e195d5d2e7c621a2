"""The supervision of a Spark submission under a lease, from its preflight to the endings of its tenures."""
