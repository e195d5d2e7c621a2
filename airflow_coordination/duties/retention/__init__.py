"""What readers shall see no more, and what comes back: by a person's word, and by rules."""
