"""A platform and a JupyterLab on this machine, as processes. Standard library only: ./dev runs it before anything is
installed, and the wheel of `./dev package` has it."""
