"""All that we use of Numba's private interface; nothing else imports it.

Each part of it makes something faster, and each has a plain replacement, which is used where this
Numba lacks a name that the part needs:

| part | what it does | without it |
|---|---|---|
| compiler | optimises machine code once, where the outermost loop is | Numba's own compiler |
| store | keeps machine code on the disk | every process compiles again |
| addresses | calls machine code by its address as Numba itself does | a C function is called |
| options | leaves out reference counts and wrappers that nobody calls | they stay in |

About the compiler: Numba turns every inner function into a library of its own: it links what the
function calls, optimises all of it, and makes machine code that nobody runs, because the caller
inlines the function. A body nested d deep is optimised d times. Here inner functions stay as they
were lowered, and only the outermost function is linked and optimised. What only debuggers and C
programs would need is left out. This leans most on how Numba works inside, so it is used with
tested versions only.
"""

import functools
import importlib
from collections.abc import Iterable
from typing import Any

import numba
from llvmlite import ir
from numba import types

TESTED = ("0.61", "0.62", "0.63", "0.64", "0.65", "0.66", "0.67", "0.68")
"""Versions of Numba with which the tests were run."""

NEEDED = {
    "compiler": (
        "numba.core.codegen.JITCodeLibrary._final_module",
        "numba.core.codegen.JITCodeLibrary._linking_libraries",
        "numba.core.codegen.JITCodeLibrary._raise_if_finalized",
        "numba.core.codegen.JITCodeLibrary._reload_init",
        "numba.core.compiler.Compiler",
        "numba.core.compiler.Flags",
        "numba.core.compiler_machinery.register_pass",
        "numba.core.environment.lookup_environment",
        "numba.core.lowering.Lower.alloca_lltype",
        "numba.core.lowering.Lower.create_cfunc_wrapper",
        "numba.core.typed_passes.BaseNativeLowering",
        "numba.core.typed_passes.NativeLowering",
    ),
    "store": (
        "numba.core.caching._Cache.load_overload",
        "numba.core.caching._Cache.save_overload",
        "numba.core.codegen.JITCPUCodegen.magic_tuple",
        "numba.core.compiler.CompileResult._rebuild",
        "numba.core.compiler.CompileResult._reduce",
        "numba.core.serialize.dumps",
    ),
    "addresses": (
        "numba.core.callconv.CPUCallConv.call_function",
        "numba.core.callconv.CPUCallConv.get_function_type",
        "numba.core.callconv.CPUCallConv.return_status_propagate",
        "numba.core.codegen.JITCodeLibrary.get_pointer_to_function",
        "numba.core.funcdesc.FunctionDescriptor.llvm_func_name",
    ),
    "options": (
        "numba.core.options.DefaultOptions._nrt",
        "numba.core.options.DefaultOptions.forceinline",
        "numba.core.options.DefaultOptions.no_cpython_wrapper",
    ),
}
"""The private names that each part needs."""


class Absent:
    """Stands for a class of Numba's that is not there."""


def look_up(path: str) -> Any:
    """What has a private name, or `Absent`."""
    module, name = _split(path)
    try:
        owner = getattr(importlib.import_module(module), name[0])
    except (ImportError, AttributeError):
        return Absent
    return owner if len(name) == 1 or _has(owner, name[1]) else Absent


def _split(path: str) -> tuple[str, list[str]]:
    """A module and the names in it: modules of Numba's are written small."""
    words = path.split(".")
    return ".".join(words[:3]), words[3:]


def _has(owner: Any, name: str) -> bool:
    """Whether objects of a class have an attribute, by their class or since they were begun."""
    methods = [getattr(owner, method, None) for method in ("__init__", "finalize")]
    codes = [getattr(method, "__code__", None) for method in methods]
    return hasattr(owner, name) or any(code and name in code.co_names for code in codes)


@functools.cache
def has_part(part: str) -> bool:
    """Whether this Numba has all names that a part needs."""
    if part == "compiler" and not is_tested(numba.__version__):
        return False
    return all(look_up(path) is not Absent for path in NEEDED[part])


def is_tested(version: str) -> bool:
    """Whether the tests were run with a version of Numba.

    >>> is_tested("0.61.2"), is_tested("0.99.0")
    (True, False)
    """
    return ".".join(version.split(".")[:2]) in TESTED


def parts() -> tuple[str, ...]:
    """The parts that are in use: machine code depends on them."""
    return tuple(filter(has_part, NEEDED))


def outer_options() -> dict[str, Any]:
    """Options of `numba.njit` for outermost functions."""
    return {"pipeline_class": OuterCompiler} if has_part("compiler") else {}


def unit_options() -> dict[str, Any]:
    """Options of `numba.njit` for outermost functions that only machine code calls."""
    lean = {"_nrt": False, "no_cpython_wrapper": True} if has_part("options") else {}
    return outer_options() | lean


def inner_options() -> dict[str, Any]:
    """Options of functions that run inside compiled loops.

    They never allocate, so they need no reference counts (whose atomic updates would cost more than
    the work), and they are inlined, because passing a tuple of arrays costs one store per field.
    """
    lean = {"_nrt": False, "forceinline": True} if has_part("options") else {}
    return lean | ({"pipeline_class": InnerCompiler} if has_part("compiler") else {})


def attach_store(dispatcher: Any, store: Any) -> bool:
    """Let a function be loaded from a store and saved in it; gives whether this Numba can."""
    attached = has_part("store") and hasattr(dispatcher, "_cache")
    if attached:
        dispatcher._cache = store
    return attached


def is_stored(dispatcher: Any, signature: tuple[Any, ...]) -> bool:
    """Whether the store of a function has machine code for these types."""
    has = getattr(getattr(dispatcher, "_cache", None), "has", None)
    return has is not None and bool(has(signature, dispatcher.targetctx))


def pack_code(result: Any) -> bytes:
    """Make bytes of what Numba compiled."""
    return bytes(look_up("numba.core.serialize.dumps")(result._reduce()))


def unpack_code(target_context: Any, content: tuple[Any, ...]) -> Any:
    """Make of what was in such bytes what Numba had compiled."""
    return look_up("numba.core.compiler.CompileResult")._rebuild(target_context, *content)


@functools.cache
def address_of(dispatcher: Any, signature: tuple[Any, ...]) -> int:
    """Where the code of a function without result begins; it is compiled if need be."""
    if not has_part("addresses"):
        return int(_c_function(dispatcher, signature).address)
    dispatcher.compile(signature)
    result = dispatcher.overloads[signature]
    return int(result.library.get_pointer_to_function(result.fndesc.llvm_func_name))


@functools.cache
def _c_function(dispatcher: Any, signature: tuple[Any, ...]) -> Any:
    """A C function that gives 1 where the function raises; kept while its address may be in use."""
    body = numba.njit(error_model="numpy")(dispatcher.py_func)

    def attempt(frame, number):  # type: ignore[no-untyped-def]
        try:
            body(frame, number)
        except Exception:  # compiled code cannot tell them apart
            return 1
        return 0

    return numba.cfunc(types.int64(*signature), error_model="numpy")(attempt)


def emit_call(context: Any, builder: Any, address: Any, kinds: tuple[Any, ...], given: Any) -> Any:
    """Emit the instructions that call the code at an address; gives 1 where a C function failed."""
    number = ir.IntType(64)
    if not has_part("addresses"):
        function = ir.FunctionType(number, [context.get_value_type(kind) for kind in kinds])
        return builder.call(builder.inttoptr(address, function.as_pointer()), given)
    convention = context.call_conv
    function = convention.get_function_type(types.none, kinds)
    code = builder.inttoptr(address, function.as_pointer())
    status, _ = convention.call_function(builder, code, types.none, kinds, given)
    with builder.if_then(status.is_error, likely=False):
        convention.return_status_propagate(builder, status)
    return number(0)


ENVIRONMENT = "_ZN08NumbaEnv"

Compiler = look_up("numba.core.compiler.Compiler")
Flags = look_up("numba.core.compiler.Flags")
JITCodeLibrary = look_up("numba.core.codegen.JITCodeLibrary")
Lower = look_up("numba.core.lowering.Lower")
BaseNativeLowering = look_up("numba.core.typed_passes.BaseNativeLowering")
NativeLowering = look_up("numba.core.typed_passes.NativeLowering")
lookup_environment = look_up("numba.core.environment.lookup_environment")


class InnerLibrary(JITCodeLibrary):  # type: ignore[misc, valid-type]
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


class OuterLibrary(JITCodeLibrary):  # type: ignore[misc, valid-type]
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
    linked: dict[Any, None] = {}
    todo = list(libraries)
    while todo:
        library = todo.pop()
        if library not in linked:
            linked[library] = None
            todo += library._linking_libraries if isinstance(library, InnerLibrary) else ()
    return linked


class LeanLower(Lower):  # type: ignore[misc, valid-type]
    """Lowers a function, without what only debuggers and C programs would ask for."""

    def alloca_lltype(self, name: str, lltype: Any, datamodel: Any = None) -> Any:
        """Make room for a variable; Numba's own asks LLVM for its size, for debuggers."""
        with self.builder.goto_entry_block():
            room = self.builder.alloca(lltype, name=name)
            self.builder.store(lltype(None), room)
        return room

    def create_cfunc_wrapper(self) -> None:
        """Do nothing: no C program calls these functions."""


class _Lowering(BaseNativeLowering):  # type: ignore[misc, valid-type]
    library_class: type

    @property
    def lowering_class(self) -> type:
        return LeanLower

    def run_pass(self, state: Any) -> Any:
        state.library = self.library_class(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return super().run_pass(state)


def _register_pass(lowering: type) -> Any:
    register = look_up("numba.core.compiler_machinery.register_pass")
    if register is Absent or BaseNativeLowering is Absent:
        return lowering
    return register(mutates_CFG=True, analysis_only=False)(lowering)


@_register_pass
class OuterLowering(_Lowering):
    """Lower an outermost function."""

    _name = "orbitmc_outer_lowering"
    library_class = OuterLibrary


@_register_pass
class InnerLowering(_Lowering):
    """Lower an inner function."""

    _name = "orbitmc_inner_lowering"
    library_class = InnerLibrary


class LeanFlags(Flags):  # type: ignore[misc, valid-type]
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


class _LeanCompiler(Compiler):  # type: ignore[misc, valid-type]
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
            (lowering, text) if step is NativeLowering else (step, text)
            for step, text in manager.passes
        ]
        manager._finalized = False
        manager.finalize()
    return managers
