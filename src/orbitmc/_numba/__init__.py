"""Machine code: how it is made, kept and found again."""

from orbitmc._util.loading import load_lazily

__getattr__, __dir__ = load_lazily(
    __name__,
    {
        "Link": "_numba.units",
        "Linked": "_numba.units",
        "Stopwatch": "_numba.jit",
        "ThreadClock": "_numba.jit",
        "WorkClock": "_numba.jit",
        "call_indirect": "_numba.units",
        "compile_next": "_numba.tiers",
        "compiled": "_numba.jit",
        "elements": "_numba.tiers",
        "folder": "_numba.store",
        "generic": "_numba.jit",
        "implementation": "_numba.jit",
        "is_compiled": "_numba.tiers",
        "link": "_numba.units",
        "of_all": "_numba.tiers",
        "of_first": "_numba.tiers",
        "of_one": "_numba.tiers",
        "unpack_frame": "_numba.units",
        "require_time": "_numba.compile_log",
        "shared": "_numba.jit",
        "tier": "_numba.tiers",
        "time_limit": "_numba.compile_log",
        "timed": "_numba.compile_log",
        "unit": "_numba.jit",
        "working_time": "_numba.compile_log",
    },
)
