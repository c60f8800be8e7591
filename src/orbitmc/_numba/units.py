"""Units of machine code that are compiled apart, and call each other by address.

Whoever calls a compiled function by its name is compiled together with it, again and again. A unit
gets the address of another one when it runs. What a unit works on is a frame: a row of words that
says where arrays are and how long, and what numbers are. Its type says what the words mean.
"""

import functools
import struct
from collections.abc import Iterator
from typing import Any, NamedTuple

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, models, register_jitable, register_model
from numpy.typing import NDArray

from orbitmc._numba import internals
from orbitmc.errors import InputError

WORD = ir.IntType(64)
MASK = 2**64 - 1
Key = tuple[Any, ...]


class FrameType(types.Type):  # type: ignore[misc]
    """The type of a frame that holds a tuple of a certain type."""

    def __init__(self, content: Any) -> None:
        self.content = content
        super().__init__(f"frame({content})")

    @property
    def about(self) -> str:
        """What the code is for: what a frame holds first."""
        chosen = getattr(self.content[0], "instance_class", None)
        return chosen.__name__ if chosen else str(self.content[0])


@register_model(FrameType)
class _FrameModel(models.PrimitiveModel):  # type: ignore[misc]
    """Compiled code knows a frame by where it begins."""

    def __init__(self, manager: Any, kind: FrameType) -> None:
        super().__init__(manager, kind, WORD)


class Linked(NamedTuple):
    """A unit that is ready to run: where its code begins, and its frame."""

    address: int
    frame: int


class Link(NamedTuple):
    """A unit, and what has to be kept as long as it may run: whoever calls it keeps the link."""

    unit: Linked
    references: tuple[Any, ...]


def link(function: Any, content: tuple[Any, ...], *references: Any) -> Link:
    """Make a unit of a compiled function `(frame, number)` and of what its frame holds."""
    words: list[int] = []
    kind = _frame_type(_described(content, words), content)
    frame = np.array(words, dtype=np.uint64)
    address = internals.address_of(function.dispatcher, (kind, types.int64))
    return Link(Linked(address, _place(frame)), (frame, content, *references))


TYPES: dict[Key, FrameType] = {}
"""Types of frames by what is in them: Numba needs long to find out."""


def _frame_type(key: Key, content: tuple[Any, ...]) -> FrameType:
    if key not in TYPES:
        kind = FrameType(numba.typeof(content))
        for leaf in _leaves(kind.content):
            if not isinstance(leaf, types.Array | types.Number | types.Boolean):
                raise InputError(f"steps read numbers, arrays and tuples of them, no {leaf}")
        TYPES[key] = kind
    return TYPES[key]


def _leaves(kind: Any) -> Iterator[Any]:
    if isinstance(kind, types.BaseTuple):
        for part in kind:
            yield from _leaves(part)
    else:
        yield kind


def _described(content: Any, words: list[int]) -> Key:
    """Append the words of a content, and give what tells its type from others."""
    if isinstance(content, tuple):
        return type(content), *(_described(part, words) for part in content)
    if isinstance(content, np.ndarray):
        words += [_place(content), *content.shape]
        if not content.flags.c_contiguous:
            words += content.strides
        flags = content.flags
        return content.dtype, content.ndim, flags.c_contiguous, flags.f_contiguous, flags.writeable
    words.append(_word(content))
    return (type(content),)


def _place(array: NDArray[Any]) -> int:
    return int(array.__array_interface__["data"][0])


def _word(number: Any) -> int:
    if isinstance(number, float | np.floating):
        return int.from_bytes(struct.pack("=d", number), "little")
    return int(number) & MASK if isinstance(number, int | np.integer | np.bool_) else 0


@intrinsic  # type: ignore[untyped-decorator]
def unpack_frame(typing: Any, frame: Any) -> Any:
    """What a frame holds; only for functions that do not count references."""

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        words = builder.inttoptr(given[0], WORD.as_pointer())
        return _Opening(context, builder, words).read(frame.content)

    return frame.content(frame), generate


class _Opening:
    """Emits the instructions that read a frame, word by word."""

    def __init__(self, context: Any, builder: Any, words: Any) -> None:
        self.context, self.builder, self.words = context, builder, words
        self.next = 0

    def read(self, kind: Any) -> Any:
        if isinstance(kind, types.BaseTuple):
            return self.context.make_tuple(self.builder, kind, [self.read(part) for part in kind])
        if isinstance(kind, types.Array):
            return self._array(kind)
        word = self._word()
        if isinstance(kind, types.Float):
            double = self.builder.bitcast(word, ir.DoubleType())
            return self.context.cast(self.builder, double, types.float64, kind)
        return self.context.cast(self.builder, word, types.int64, kind)

    def _array(self, kind: Any) -> Any:
        array = self.context.make_array(kind)(self.context, self.builder)
        data = self._word(array.data.type)
        shape = [self._word() for _ in range(kind.ndim)]
        size = self.context.get_abi_sizeof(self.context.get_data_type(kind.dtype))
        if kind.layout == "C":
            strides = [WORD(size)]
            for length in reversed(shape[1:]):
                strides.insert(0, self.builder.mul(strides[0], length))
        else:
            strides = [self._word() for _ in range(kind.ndim)]
        array.data, array.itemsize = data, WORD(size)
        array.shape, array.strides = self._pack(shape), self._pack(strides[: kind.ndim])
        array.nitems = functools.reduce(self.builder.mul, shape, WORD(1))
        for owner in ("meminfo", "parent"):  # nobody: the array belongs to who made the frame
            setattr(array, owner, getattr(array, owner).type(None))
        return array._getvalue()

    def _pack(self, words: list[Any]) -> Any:
        packed = ir.ArrayType(WORD, len(words))(ir.Undefined)
        for place, word in enumerate(words):
            packed = self.builder.insert_value(packed, word, place)
        return packed

    def _word(self, kind: Any = WORD) -> Any:
        place = self.builder.gep(self.words, [WORD(self.next)])
        place = self.builder.bitcast(place, kind.as_pointer())
        self.next += 1
        return self.builder.load(place)


KINDS = (types.int64, types.int64)


@intrinsic  # type: ignore[untyped-decorator]
def _call(typing: Any, address: Any, frame: Any, number: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        return internals.emit_call(context, builder, given[0], KINDS, given[1:])

    return types.int64(types.int64, *KINDS), generate


@register_jitable(error_model="numpy", **internals.inner_options())  # type: ignore[untyped-decorator]
def call_indirect(address: int, frame: int, number: int) -> None:
    """Let the unit at an address do its work on a frame; it is told a number, and gives nothing."""
    if _call(address, frame, number) != 0:
        raise RuntimeError("compiled code failed")
