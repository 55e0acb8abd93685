"""The rules of the tree that no compiler knows. `./dev tidy` runs them; each has a test that plants a violation."""
