"""What a duty is, and who runs several: each is reported, and none stops the next."""
