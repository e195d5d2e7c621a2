"""Where copies lie: which to make and to drop, and how locations come to be used alike."""
