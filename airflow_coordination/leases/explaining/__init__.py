"""Why a partition is not moving: what is asked of the store, and one pure function over the answers."""
