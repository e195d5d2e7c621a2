"""``quickstart``: an example for people who installed the package and have no clone of it."""
