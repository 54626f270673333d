"""Where runs are done: in this process, or by joblib on processes, Dask or Ray."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from itertools import islice
from typing import Any

from odtdsl.base.cluster import dask_client, unreachable
from odtdsl.base.diagnostics.model import OdtError, error

Task = tuple[Callable[..., Any], tuple[Any, ...]]
Pool = Callable[[Iterable[Task]], Iterator[Any]]

_NEEDS = {"dask": "distributed", "ray": "ray"}
_HOW = {"dask": 'pip install "odtdsl[distributed]"', "ray": "pip install ray"}
_LOCAL = ("loky", "threading", "multiprocessing", "sequential")


def here(tasks: Iterable[Task]) -> Iterator[Any]:
    """One after the other, in this process."""
    for function, arguments in tasks:
        yield function(*arguments)


@contextmanager
def pool(jobs: int, backend: str | None, address: str | None) -> Iterator[Pool]:
    """What runs tasks and yields what they return, in the order in which they end.

    Parameters
    ----------
    jobs
        Processes; -1 for one per processor. Clusters take as many as they have.
    backend
        A back end of joblib: `loky` (default), `threading`, `multiprocessing`, `dask`, `ray`, or
        any that was registered.
    address
        Of the scheduler, `tcp://host:8786`; default a cluster of this machine alone.

    Raises
    ------
    OdtError
        U347: no such back end, or the package or the cluster is not there.
    """
    if backend is None and address is not None:
        backend = "ray" if address.startswith("ray://") else "dask"
    if backend in _LOCAL and address is not None:
        raise error(
            "U347",
            f"`{backend}` runs on this machine and takes no address",
            helps=("write `--backend dask`, or omit `--address`",),
        )
    if jobs == 1 and backend in (None, "sequential"):
        yield here
        return
    if (package := _NEEDS.get(backend or "")) is not None and find_spec(package) is None:
        raise error("U347", f"`{backend}` is not installed", helps=(_HOW[backend or ""],))
    import joblib

    with ExitStack() as stack:
        options = _connected(stack, backend, address, jobs)
        try:
            stack.enter_context(joblib.parallel_config(backend=backend or "loky", **options))
        except (ValueError, ImportError) as failure:
            raise error(
                "U347",
                f"joblib has no back end `{backend}`: {failure}",
                helps=("write loky, dask or ray",),
            ) from None
        yield lambda tasks: _parallel(tasks, -1 if backend in _NEEDS else jobs, backend)


def _connected(
    stack: ExitStack, backend: str | None, address: str | None, jobs: int
) -> dict[str, Any]:
    """Options of joblib, with the cluster that was connected to; left again at the end."""
    if backend == "dask":
        client = dask_client(address, None if jobs < 1 else jobs)
        stack.callback(client.close)
        return {"client": client}
    if backend == "ray":
        import ray
        from ray.util.joblib import register_ray

        if not ray.is_initialized():
            try:
                ray.init(
                    address, num_cpus=None if address or jobs < 1 else jobs, log_to_driver=False
                )
            except (OSError, ValueError, ConnectionError, RuntimeError) as failure:
                raise unreachable(backend, address, failure) from None
            stack.callback(ray.shutdown)
        register_ray()
    return {}


def _parallel(tasks: Iterable[Task], jobs: int, backend: str | None) -> Iterator[Any]:
    """The results of joblib as they come; of back ends that give lists only, in small ones."""
    from joblib import Parallel, delayed

    calls = (delayed(function)(*arguments) for function, arguments in tasks)
    try:
        try:
            parallel = Parallel(n_jobs=jobs, batch_size=1, return_as="generator_unordered")
        except ValueError:
            parallel = Parallel(n_jobs=jobs, batch_size=1)
            from joblib import effective_n_jobs

            while some := list(islice(calls, 2 * effective_n_jobs(jobs))):
                yield from parallel(some)
            return
        yield from parallel(calls)
    except (OdtError, GeneratorExit):
        raise
    except Exception as failure:
        raise error(
            "U348",
            f"runs on {backend or 'worker processes'} failed: {type(failure).__name__}: {failure}",
            notes=("completed runs are in the file of `--keep`, if you gave one",),
            helps=("run the same command again: it continues where this one ended",),
        ) from failure


__all__ = ["Pool", "Task", "pool"]
