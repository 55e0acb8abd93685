"""The commands of ./dev. The package uses the standard library only, because it runs before anything is installed."""
