"""A sweep on a Ray cluster.

python on_ray.py sweep.toml ray://head:10001

Without an address it uses this machine.
"""

import sys

import sojourn as sj

if __name__ == "__main__":
    file, *address = sys.argv[1:]
    result = sj.sweep(file, executor=sj.RayExecutor(*address))
    print(f"{len(result.runs)} runs")
