"""A sweep on a Dask cluster.

python on_dask.py sweep.toml tcp://scheduler:8786

Without an address it starts two workers on this machine.
"""

import sys

import distributed

import sojourn as sj

if __name__ == "__main__":
    file, *address = sys.argv[1:]
    with distributed.Client(*address or [distributed.LocalCluster(n_workers=2, dashboard_address=None)]) as client:
        result = sj.sweep(file, executor=client.get_executor())
    print(f"{len(result.runs)} runs")
