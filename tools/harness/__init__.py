"""A running platform and its clients, for tests/e2e and bench: processes, REST, both WebSocket sub-protocols."""
