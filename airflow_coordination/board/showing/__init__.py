"""What readers see of a source, on the board: its branches, and what is hidden of its datasets."""
