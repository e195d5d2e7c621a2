"""What readers see of what a source has published: which branches show, and which intervals are hidden."""
