"""The Python process of a replica: a stock ipykernel that a zygote forks, and that a host agent drives.

`zygote.py` imports everything once and forks; `child.py` makes the fork a kernel; `kernel.py` holds each cell at the
fence until it may run; `replica.py` reports what the cell changed, and applies commits between cells. They talk with
the host agent in the frames of `channel.py` (docs/internals/worker.md). User code of a cell runs only between `go` and
the report, a report is sent for every `go`, and the zygote has one thread and no ZMQ context when it forks. Look at
`kernel.py` first, then at `replica.py`.
"""
