"""`--cluster ADDRESS`: the workers of dask that do the work of a command."""

from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import ExitStack, contextmanager
from typing import Any

from orbitmc.errors import InputError

LOCAL = "local"
SCHEMES = ("tcp", "tls", "ucx", "ws", "wss")
SECONDS = 30  # that a scheduler has to answer, and a first worker to come
RETRIES = 3  # of work whose worker was lost


@contextmanager
def cluster(address: str | None) -> Iterator[Executor | None]:
    """The executor at an address, for as long as it is needed; nothing without an address."""
    if address is None:
        yield None
        return
    from orbitmc._util.loading import extra

    distributed = extra("distributed", "cluster")
    with ExitStack() as opened:
        client = _client(distributed, address, opened)
        yield client.get_executor(retries=RETRIES, pure=False)


def _client(distributed: Any, address: str, opened: ExitStack) -> Any:
    """Connect to a scheduler, or start one here; `opened` closes both."""
    if address != LOCAL and address.partition("://")[0] not in SCHEMES:
        raise InputError(
            f"--cluster {address}: expected an address such as tcp://HOST:8786, or local"
        )
    try:
        at = opened.enter_context(_local(distributed)) if address == LOCAL else address
        client = distributed.Client(at, timeout=SECONDS, set_as_default=False)
        opened.enter_context(client)
        client.wait_for_workers(1, timeout=SECONDS)
    except (OSError, ValueError, RuntimeError, TimeoutError) as error:
        raise InputError(
            f"--cluster {address}: no scheduler of dask with a worker answers there ({error}); "
            "`dask scheduler` starts one, `dask worker ADDRESS` adds workers"
        ) from None
    return client


def _local(distributed: Any) -> Any:
    from orbitmc.sampling.budget import available_cores

    return distributed.LocalCluster(
        n_workers=available_cores(), threads_per_worker=1, dashboard_address=":0"
    )
