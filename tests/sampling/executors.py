"""Executors for tests: what passes is pickled, as between processes, but without their start."""

import pickle
from concurrent.futures import Executor, Future


class Copying(Executor):
    """Works at once, on copies; counts what is sent."""

    def __init__(self):
        self.sent = []

    def submit(self, function, /, *arguments, **options):
        future = Future()
        packed = pickle.dumps((function, arguments, options))
        self.sent.append(len(packed))
        try:
            future.set_result(self.done(*pickle.loads(packed)))
        except Exception as error:
            future.set_exception(error)
        return future

    def done(self, function, arguments, options):
        return pickle.loads(pickle.dumps(function(*arguments, **options)))


class Losing(Copying):
    """Loses every third piece of work after it was done, as a worker that dies does."""

    def __init__(self, error=ConnectionError):
        super().__init__()
        self.error, self.lost = error, 0

    def done(self, function, arguments, options):
        found = super().done(function, arguments, options)
        if len(self.sent) % 3 == 0:
            self.lost += 1
            raise self.error("the worker is gone")
        return found


class Forgetting(Copying):
    """Every piece goes to a worker that has opened nothing."""

    def done(self, function, arguments, options):
        from orbitmc.sampling import executor as working

        working._opened.clear()
        return super().done(function, arguments, options)


class Silent(Executor):
    """Never answers."""

    def submit(self, function, /, *arguments, **options):
        return Future()
