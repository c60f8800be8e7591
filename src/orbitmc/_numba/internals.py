"""Optimise machine code once, where the outermost loop is.

Numba turns every inner function into a library of its own: it links what the function calls,
optimises all of it, and makes machine code that nobody runs, because the caller inlines the
function. A body nested d deep is optimised d times. Here inner functions stay as they were
lowered, and only the outermost function is linked and optimised. What only debuggers and C
programs would need is left out.

This leans on how Numba works inside. `compiler_classes` gives Numba's own compiler where a part
that is leaned on is missing.
"""

import gc
from collections.abc import Iterable
from typing import Any

from numba.core import cgutils
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, Flags
from numba.core.compiler_machinery import register_pass
from numba.core.environment import lookup_environment
from numba.core.event import Event, Listener
from numba.core.lowering import Lower
from numba.core.typed_passes import BaseNativeLowering, NativeLowering

ENVIRONMENT = "_ZN08NumbaEnv"
LEANED_ON = ("_linking_libraries", "_final_module", "_reload_init", "_raise_if_finalized")
OVERRIDDEN = ("alloca_lltype", "create_cfunc_wrapper")


class InnerLibrary(JITCodeLibrary):  # type: ignore[misc]
    """Code of an inner function: never optimised by itself, never run by itself."""

    @property
    def codegen(self) -> Any:
        return _WithoutEnvironments(self._codegen)

    def finalize(self) -> None:
        self._raise_if_finalized()
        for library in self._linking_libraries:
            self._reload_init.update(library._reload_init)
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Say that there is no machine code to point at."""
        return 0


class _WithoutEnvironments:
    """A code generator that leaves the addresses of environments to the outermost library."""

    def __init__(self, codegen: Any) -> None:
        self._codegen = codegen

    def set_env(self, name: str, environment: Any) -> None:
        """Do nothing: there is no machine code yet that would look there."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._codegen, name)


class OuterLibrary(JITCodeLibrary):  # type: ignore[misc]
    """Code of an outermost function: links all inner ones, however deep, and optimises once."""

    _linking_libraries: list[Any]

    def finalize(self) -> None:
        self._linking_libraries = list(_all_linked(self._linking_libraries))
        super().finalize()
        for variable in self._final_module.global_variables:
            environment = variable.name.startswith(ENVIRONMENT) and lookup_environment(
                variable.name
            )
            if environment:
                self._codegen.set_env(variable.name, environment)


def _all_linked(libraries: Iterable[Any]) -> dict[Any, None]:
    found: dict[Any, None] = {}
    todo = list(libraries)
    while todo:
        library = todo.pop()
        if library not in found:
            found[library] = None
            todo += library._linking_libraries if isinstance(library, InnerLibrary) else ()
    return found


class LeanLower(Lower):  # type: ignore[misc]
    """Lowers a function, without what only debuggers and C programs would ask for."""

    def alloca_lltype(self, name: str, lltype: Any, datamodel: Any = None) -> Any:
        """Make room for a variable; Numba's own asks LLVM for its size, for debuggers."""
        return cgutils.alloca_once(self.builder, lltype, name=name, zfill=False)

    def create_cfunc_wrapper(self) -> None:
        """Do nothing: no C program calls these functions."""


class _Lowering(BaseNativeLowering):  # type: ignore[misc]
    library_class: type

    @property
    def lowering_class(self) -> type:
        return LeanLower

    def run_pass(self, state: Any) -> Any:
        state.library = self.library_class(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return super().run_pass(state)


@register_pass(mutates_CFG=True, analysis_only=False)
class OuterLowering(_Lowering):
    """Lower an outermost function."""

    _name = "orbitmc_outer_lowering"
    library_class = OuterLibrary


@register_pass(mutates_CFG=True, analysis_only=False)
class InnerLowering(_Lowering):
    """Lower an inner function."""

    _name = "orbitmc_inner_lowering"
    library_class = InnerLibrary


class LeanFlags(Flags):  # type: ignore[misc]
    """Options of a compilation, compared by those that were set.

    Numba compares all of them, thousands of times for each function.
    """

    def __hash__(self) -> int:
        return HASH_OF_FLAGS

    def __eq__(self, other: object) -> bool:
        if isinstance(other, LeanFlags):
            return bool(self._values == other._values)
        return bool(super().__eq__(other))


HASH_OF_FLAGS = hash(Flags())  # Numba's own hash is that of the options' names


class _LeanCompiler(Compiler):  # type: ignore[misc]
    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.state.flags = LeanFlags(self.state.flags)


class OuterCompiler(_LeanCompiler):
    """Numba's compiler with `OuterLowering`."""

    def define_pipelines(self) -> list[Any]:
        return _with_lowering(super().define_pipelines(), OuterLowering)


class InnerCompiler(_LeanCompiler):
    """Numba's compiler with `InnerLowering`."""

    def define_pipelines(self) -> list[Any]:
        return _with_lowering(super().define_pipelines(), InnerLowering)


def _with_lowering(managers: list[Any], lowering: type) -> list[Any]:
    for manager in managers:
        manager.passes = [
            (lowering, text) if one is NativeLowering else (one, text)
            for one, text in manager.passes
        ]
        manager._finalized = False
        manager.finalize()
    return managers


class PausedCollection(Listener):  # type: ignore[misc]
    """Switches Python's search for unreachable objects off while something is compiled.

    Compiling makes a million objects and frees most of them at once; to search them again and
    again took an eighth of its time.
    """

    def __init__(self) -> None:
        self._depth, self._usual = 0, True

    def on_start(self, event: Event) -> None:
        if self._depth == 0:
            self._usual = gc.isenabled()
            gc.disable()
        self._depth += 1

    def on_end(self, event: Event) -> None:
        self._depth -= 1
        if self._depth == 0 and self._usual:
            gc.enable()


def compiler_classes() -> tuple[type, type]:
    """The lean compilers of outermost and of inner functions; Numba's own if it lacks a part."""
    lean = all(map(_has, LEANED_ON)) and all(hasattr(Lower, name) for name in OVERRIDDEN)
    return (OuterCompiler, InnerCompiler) if lean else (Compiler, Compiler)


def _has(name: str) -> bool:
    code = JITCodeLibrary.finalize.__code__
    return hasattr(JITCodeLibrary, name) or name in code.co_names
