"""Small Dask clusters on this machine."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import dask.config
import distributed

SETTINGS = {
    "distributed.admin.system-monitor.gil.enabled": False,
    "distributed.worker.memory.terminate": False,
    # on a busy machine a worker may need longer to answer than the 30 s that are usual
    "distributed.comm.timeouts.connect": "120s",
    "distributed.comm.timeouts.tcp": "120s",
}


class Cluster(distributed.LocalCluster):
    """One whose worker may leave before the cluster has heard that it came, which Dask takes for an error."""

    def _update_worker_status(self, op: str, msg: Any) -> None:
        if op == "add" or msg in self.scheduler_info["workers"]:
            super()._update_worker_status(op, msg)


@contextmanager
def local_client(workers: int = 2, processes: bool = False) -> Iterator[Any]:
    """A client of so many workers with one thread each; processes that die are started again."""
    # ":0" is any free port: without a dashboard Dask still takes port 8787, and warns if another test has it
    options = {"n_workers": workers, "threads_per_worker": 1, "processes": processes, "dashboard_address": ":0"}
    with warnings.catch_warnings(), dask.config.set(SETTINGS):
        warnings.simplefilter("ignore", ResourceWarning)
        with Cluster(**options, silence_logs=50) as cluster, distributed.Client(cluster) as client:
            yield client
