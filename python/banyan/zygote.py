"""`python -m banyan.zygote --control-fd N`: what a host agent starts (docs/internals/worker.md).

Host agents of other versions know this name too, so it stays where it is; the zygote itself is in the room `worker`.
"""

from banyan.worker.zygote import main

if __name__ == "__main__":
    main()
