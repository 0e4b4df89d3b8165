"""The paid interface as its client sees it: requests, answers, limits."""
