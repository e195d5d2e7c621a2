"""What the benchmarks share: systems in processes of their own, turns, figures, tables and the page."""
