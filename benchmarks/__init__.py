"""What the package costs beside its peers: ``python -m benchmarks`` runs all, and writes docs/benchmarks.md."""
