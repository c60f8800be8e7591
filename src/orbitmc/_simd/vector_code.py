"""Vector code for plain functions, in LLVM's own vector language.

A function on lanes is written once, in plain Python: this is what the interpreter runs, and what
its vector code has to do. `vector_code` registers how compiled code does the same. The last
argument of such a function is `width`, with one entry for each 32 lanes.
"""

import functools
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import lower_builtin, type_callable

STREAMS = 8  # 32-bit numbers in an AVX2 register, and interleaved generators
I8, I32, I64 = ir.IntType(8), ir.IntType(32), ir.IntType(64)
ROW = ir.VectorType(I8, 32)
EIGHT = ir.VectorType(I8, STREAMS)
WORD_VECTOR = ir.VectorType(I32, STREAMS)
NUMBER_VECTOR = ir.VectorType(ir.FloatType(), STREAMS)
HAS_AVX2 = bool(llvm.get_host_cpu_features().get("avx2", False))

RETURNED = {None: types.void, bool: types.boolean, int: types.int64, np.float32: types.float32}


class Call:
    """One call that is compiled: its arguments by their names, and instructions on vectors."""

    def __init__(self, names: list[str], context: Any, builder: Any, kinds: Any, values: Any):
        self.context, self.builder = context, builder
        self.arguments = dict(zip(names, zip(values, kinds, strict=True), strict=True))
        self.lanes = 32 * len(kinds[-1]) if names[-1] == "width" else 0

    def value(self, name: str) -> Any:
        return self.arguments[name][0]

    def kind(self, name: str) -> Any:
        return self.arguments[name][1]

    def array(self, name: str) -> Any:
        """Where the entries of an array begin."""
        return self.context.make_array(self.kind(name))(
            self.context, self.builder, self.value(name)
        ).data

    def number(self, name: str, kind: Any = types.uint64) -> Any:
        return self.context.cast(self.builder, self.value(name), self.kind(name), kind)

    def row(self, array: str, number: str) -> Any:
        """Where the row `array[number]` begins."""
        return self.row_at(self.array(array), self.number(number))

    def row_at(self, start: Any, number: Any) -> Any:
        return self.at(start, self.builder.mul(number, I64(self.lanes)))

    def at(self, start: Any, place: Any) -> Any:
        return self.builder.gep(start, [I64(place) if isinstance(place, int) else place])

    def load(self, start: Any, place: Any, kind: Any) -> Any:
        loaded = self.builder.load(self.builder.bitcast(self.at(start, place), kind.as_pointer()))
        loaded.align = 1
        return loaded

    def store(self, value: Any, start: Any, place: Any) -> None:
        target = self.builder.bitcast(self.at(start, place), value.type.as_pointer())
        self.builder.store(value, target).align = 1


def vector_code(plain: Callable[..., Any]) -> Callable[[Callable[[Call], Any]], Callable[..., Any]]:
    """Register a function that emits the instructions of a plain function's call."""
    names = list(inspect.signature(plain).parameters)
    returned = RETURNED[plain.__annotations__["return"]]

    @functools.wraps(plain)  # the signature too: Numba matches calls with it
    def type_of_call(*kinds: Any) -> Any:
        return returned(*kinds)

    def register(emit: Callable[[Call], Any]) -> Callable[[Call], Any]:
        def lower(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            result = emit(Call(names, context, builder, signature.args, values))
            return context.get_dummy_value() if returned is types.void else result

        type_callable(plain)(lambda context: type_of_call)
        lower_builtin(plain, types.VarArg(types.Any))(lower)
        return emit

    return register


def declare(module: Any, kind: ir.FunctionType, name: str) -> Any:
    """A function that LLVM itself has, in a module."""
    return module.globals.get(name) or ir.Function(module, kind, name)


def allocate(builder: Any, value: Any) -> Any:
    """A place of memory that holds a value; it is made once, where the function begins."""
    with builder.goto_entry_block():
        place = builder.alloca(value.type)
    builder.store(value, place)
    return place


@contextmanager
def count_to(builder: Any, number: Any) -> Iterator[Any]:
    """Emit a loop around the instructions of a `with` block; gives 0, 1, … below a number."""
    head, body, end = (
        builder.append_basic_block(f"loop.{part}") for part in ("head", "body", "end")
    )
    before = builder.block
    builder.branch(head)
    builder.position_at_end(head)
    index = builder.phi(number.type)
    index.add_incoming(number.type(0), before)
    builder.cbranch(builder.icmp_signed("<", index, number), body, end)
    builder.position_at_end(body)
    yield index
    index.add_incoming(builder.add(index, number.type(1), flags=["nsw"]), builder.block)
    builder.branch(head)
    builder.position_at_end(end)


def splat(value: float, kind: Any) -> ir.Constant:
    """A vector that repeats a constant."""
    return ir.Constant(kind, [value] * kind.count)


def broadcast(builder: Any, value: Any, count: int) -> Any:
    """A vector that repeats a number."""
    kind = ir.VectorType(value.type, count)
    single = builder.insert_element(ir.Constant(kind, ir.Undefined), value, I32(0))
    return builder.shuffle_vector(single, single, splat(0, ir.VectorType(I32, count)))


def concatenate(builder: Any, parts: list[Any]) -> Any:
    """Vectors one after the other, as one vector."""
    while len(parts) > 1:
        width = 2 * parts[0].type.count
        order = ir.Constant(ir.VectorType(I32, width), list(range(width)))
        parts = [
            builder.shuffle_vector(first, second, order)
            for first, second in zip(parts[::2], parts[1::2], strict=True)
        ]
    return parts[0]


def eight_of(builder: Any, vector: Any, place: int) -> Any:
    """Eight entries of a longer vector, from a place on."""
    order = ir.Constant(WORD_VECTOR, list(range(place, place + STREAMS)))
    return builder.shuffle_vector(vector, vector, order)


def multiply_add(builder: Any, factor: Any, other: Any, more: Any) -> Any:
    """`factor * other + more` of eight float32."""
    kind = ir.FunctionType(NUMBER_VECTOR, [NUMBER_VECTOR] * 3)
    function = declare(builder.module, kind, "llvm.fmuladd.v8f32")
    return builder.call(function, [factor, other, more])


def look_up(builder: Any, table: Any, places: Any) -> Any:
    """Eight entries of a table of eight, by the AVX2 permutation where there is one."""
    if HAS_AVX2:
        kind = ir.FunctionType(WORD_VECTOR, [WORD_VECTOR, WORD_VECTOR])
        permute = declare(builder.module, kind, "llvm.x86.avx2.permd")
        return builder.call(permute, [table, places])
    entries = builder.shuffle_vector(table, table, splat(0, WORD_VECTOR))
    for entry in range(1, STREAMS):
        number = splat(entry, WORD_VECTOR)
        here = builder.icmp_unsigned("==", places, number)
        entries = builder.select(here, builder.shuffle_vector(table, table, number), entries)
    return entries
