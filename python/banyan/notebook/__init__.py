"""What users see and call in a notebook: magics, tables of the history, notices, and the comm of front ends.

The magics and the comm ask the session's history through one function, which a worker and a kernel without the platform
each provide, and show its answer. No module here changes a variable. A text for the user says what happened, what it
means for them and what to do. Look at `magics.py` first, and at `history.py` for how answers are shown.
"""
