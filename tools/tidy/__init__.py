"""The rules of the tree that no compiler checks. `./dev tidy` runs them; each has a test that plants a violation."""
