"""Functions as Numba has them: compiled once, kept on disk, known to other compiled code."""

import sys
from collections.abc import Callable, Iterator
from typing import Any

import numba
from numba.extending import overload, register_jitable, typeof_impl

from orbitmc._numba import internals
from orbitmc._numba.compile_log import Work, announce
from orbitmc._numba.jit import IMPLEMENTATIONS, REGISTRATIONS, Compiled
from orbitmc._numba.store import MachineCode
from orbitmc._numba.units import FrameType

INNER = {"error_model": "numpy", "fastmath": {"contract"}, **internals.inner_options()}
"""Options of functions that run inside compiled loops."""


def outer_dispatcher(function: Callable[..., Any]) -> Any:
    """An outermost loop; the GIL is released while it runs."""
    return _dispatcher(function, nogil=True, **internals.outer_options())


def unit_dispatcher(function: Callable[..., Any]) -> Any:
    """A function that others call by address."""
    return _dispatcher(function, **internals.unit_options())


def _dispatcher(function: Callable[..., Any], **options: Any) -> Any:
    dispatcher = numba.njit(error_model="numpy", **options)(function)
    if dispatcher is not function:  # they are the same where Numba is switched off
        internals.attach_store(dispatcher, MachineCode(function, _modules_of))
        _announce_compiling(dispatcher)
    return dispatcher


def _announce_compiling(dispatcher: Any) -> None:
    """Tell those who listen when this function, and no other, is compiled or loaded."""
    compile_signature = dispatcher.compile

    def compile_and_tell(signature: Any) -> Any:
        if signature in dispatcher.signatures:
            return compile_signature(signature)
        name = _name(dispatcher.py_func, signature)
        with announce(Work.LOADING, name):
            stored = internals.is_stored(dispatcher, signature)
        with announce(Work.LOADING if stored else Work.COMPILING, name):
            return compile_signature(signature)

    dispatcher.compile = compile_and_tell


def _name(function: Any, signature: tuple[Any, ...]) -> str:
    """What is compiled, as a remark says it."""
    name = f"{function.__module__}.{function.__qualname__}".removeprefix("orbitmc.")
    return " of ".join([name, *(kind.about for kind in signature if isinstance(kind, FrameType))])


def is_kept(function: Compiled, arguments: tuple[Any, ...]) -> bool:
    """Whether machine code of a function for such arguments is on the disk."""
    return internals.is_stored(function.dispatcher, tuple(map(numba.typeof, arguments)))


def _modules_of(signature: Any) -> set[str]:
    """The modules of the types in a signature, and of all that generic functions do for them.

    How code is made is part of it, too.
    """
    classes = {part for kind in signature for part in _classes_in(kind)}
    bodies = {table[chosen] for table in IMPLEMENTATIONS for chosen in classes & table.keys()}
    return {__name__, *(thing.__module__ for thing in classes | bodies)}


def _classes_in(kind: Any) -> Iterator[type]:
    """The NamedTuple classes that a type of Numba's is made of."""
    if isinstance(kind, FrameType):
        yield from _classes_in(kind.content)
    if isinstance(kind, numba.types.BaseTuple):
        yield from filter(None, [getattr(kind, "instance_class", None)])
        for part in kind:
            yield from _classes_in(part)


def register_shared(function: Callable[..., Any]) -> None:
    """Let compiled code call a function."""
    register_jitable(**INNER)(function)


def register_generic(dispatch: Any, position: int) -> None:
    """Let compiled code call a function whose body the type of one argument chooses."""

    def choose(*types: Any) -> Callable[..., Any] | None:
        chosen = getattr(types[position], "instance_class", None)
        return dispatch.implementations.get(chosen)  # type: ignore[no-any-return]

    overload(dispatch, strict=False, jit_options=INNER)(choose)


@typeof_impl.register(Compiled)  # type: ignore[untyped-decorator]
def _type_of_compiled(function: Compiled, context: Any) -> Any:
    return typeof_impl(function.dispatcher, context)


REGISTRATIONS.load(sys.modules[__name__])
