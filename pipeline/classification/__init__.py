"""One job from beginning to end: read, plan, buy, write."""
