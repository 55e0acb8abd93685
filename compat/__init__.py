"""Which classes a session keeps: for each one a value is made, changed, stored, restored elsewhere and undone."""
