"""Starts a platform and a JupyterLab on this machine, as child processes. The package uses the standard library only,
because ./dev runs it before anything is installed, and because the wheel of `./dev package` contains it."""
