"""`python dask_cluster.py`: a dask cluster on loopback that runs beside the sessions of the tests.

Says its scheduler's address on stdout, and ends when stdin does. BANYAN_TEST_PORT: the scheduler's port.
"""

import os
import sys

from distributed import LocalCluster

if __name__ == "__main__":
    port = int(os.environ.get("BANYAN_TEST_PORT", "0"))
    options = {"host": "127.0.0.1", "scheduler_port": port, "dashboard_address": None}
    with LocalCluster(n_workers=1, threads_per_worker=2, **options) as cluster:
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()
