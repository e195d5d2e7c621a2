"""The commands about copies of what is published, and about the locations that they lie in."""
