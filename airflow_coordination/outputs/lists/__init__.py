"""Lists too long for a store, as files below an output root: notes of what follows, names of groups. Which may go."""
