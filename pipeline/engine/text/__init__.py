"""What of a text is meant: cleaning, negation, and which words spoke for a code."""
