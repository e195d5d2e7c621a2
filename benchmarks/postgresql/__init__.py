"""PostgreSQL: the systems that are compared there, and the benchmarks."""
