"""What the commands print: text for people, JSON types for programs."""
