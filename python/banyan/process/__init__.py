"""What a worker and a stock kernel need of their own process, whatever the session holds.

The modules here know nothing of values and commits, and import nothing of the package but its native part, so that
every other package may use them. `pages.py` is the largest: it knows which comms the front ends have been told of. Look
at `say.py` for how the user is told something, and at `interrupts.py` for what must not be interrupted.
"""
