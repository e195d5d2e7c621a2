"""One call of a function, and one Spark job, for many leases: what it sees, how it writes, and how each lease ends."""
