"""What people decided about the codes of texts: the file format, merging, and applying them."""
