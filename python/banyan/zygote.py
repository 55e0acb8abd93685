"""`python -m banyan.zygote --control-fd N`: what a host agent starts (docs/internals/worker.md).

Host agents of other versions use this name, too, so it stays here; the zygote itself is in `banyan.worker.zygote`.
"""

from banyan.worker.zygote import main

if __name__ == "__main__":
    main()
