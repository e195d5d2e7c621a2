"""Rules of what is kept where and what goes, as Druid writes them: the first one that applies decides."""
