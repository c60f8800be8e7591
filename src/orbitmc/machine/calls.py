"""Let compiled code call other compiled code by its address.

Whoever calls a compiled function by name is compiled together with it, again and again. Here the
caller gets the address when it runs, packs the arguments once, and hands over where they are.
"""

from collections.abc import Callable
from typing import Any

from numba import types
from numba._dispatcher import compute_fingerprint
from numba.core import cgutils
from numba.extending import intrinsic

KNOWN: dict[tuple[Any, bytes], int] = {}
"""Addresses that were asked for, by function and by what Numba sees of the types of arguments."""


def address_of(function: Callable[..., Any], arguments: tuple[Any, ...]) -> int:
    """Where the code of a compiled function `(place, kind, number)` for such arguments begins.

    The function gets the arguments by `unpacked(place, kind)`; it is compiled if need be.
    """
    key = function, compute_fingerprint(arguments)
    if key not in KNOWN:
        KNOWN[key] = _found_address(function, arguments)
    return KNOWN[key]


def _found_address(dispatcher: Any, arguments: tuple[Any, ...]) -> int:
    kind = types.BaseTuple.from_types(tuple(map(dispatcher.typeof_pyval, arguments)))
    signature = (types.intp, types.TypeRef(kind), types.intp)
    if signature not in dispatcher.overloads:
        dispatcher.compile(signature)
    made = dispatcher.overloads[signature]
    return int(made.library.get_pointer_to_function(made.fndesc.llvm_func_name))


@intrinsic  # type: ignore[untyped-decorator]
def packed(typing: Any, arguments: Any) -> Any:
    """Put a tuple of arguments where others can find it, as long as the caller runs."""

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        place = cgutils.alloca_once_value(builder, given[0])
        return builder.ptrtoint(place, context.get_value_type(types.intp))

    return types.intp(arguments), generate


@intrinsic  # type: ignore[untyped-decorator]
def unpacked(typing: Any, place: Any, kind: Any) -> Any:
    """Get the arguments back; only for functions that do not count references."""

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        pointer = context.get_value_type(signature.return_type).as_pointer()
        return builder.load(builder.inttoptr(given[0], pointer))

    return kind.instance_type(types.intp, kind), generate


@intrinsic  # type: ignore[untyped-decorator]
def call_at(typing: Any, address: Any, place: Any, number: Any) -> Any:
    """Call the code at an address with packed arguments and a number; it gives nothing."""
    kinds = (types.intp, types.TypeRef(types.intp), types.intp)

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        where, packed_at, number = given
        convention = context.call_conv
        kind = convention.get_function_type(types.none, kinds)
        code = builder.inttoptr(where, kind.as_pointer())
        values = (packed_at, context.get_dummy_value(), number)
        status, _ = convention.call_function(builder, code, types.none, kinds, values)
        with cgutils.if_unlikely(builder, status.is_error):
            convention.return_status_propagate(builder, status)
        return context.get_dummy_value()

    return types.none(types.intp, types.intp, types.intp), generate
