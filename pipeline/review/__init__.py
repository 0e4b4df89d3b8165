"""Reviewing: a local page on which a person decides the codes of doubtful rows."""
