"""The service's pages: sign-up, keys, usage, statements and a form to try it."""
