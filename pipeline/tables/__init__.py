"""Reads and writes tables of every format behind one interface, batch by batch."""
