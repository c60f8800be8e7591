"""Words of sixty-four bits: entries of a Boolean matrix, or what looks random."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from orbitmc._numba.jit import shared

Bits = NDArray[np.uint64]
Matrix = NDArray[np.bool_]

WORD_BITS = 64


def pack_bits(matrix: Matrix) -> Bits:
    """Pack each row of a Boolean matrix into words, first column in the lowest bit."""
    rows, columns = matrix.shape
    words = max(1, (columns + WORD_BITS - 1) // WORD_BITS)
    padded = np.zeros((rows, words * WORD_BITS), dtype=np.bool_)
    padded[:, :columns] = matrix
    return np.packbits(padded, axis=1, bitorder="little").view(np.uint64)


def unpack_bits(bits: Bits, columns: int) -> Matrix:
    """The Boolean matrix of packed rows."""
    flags = np.unpackbits(bits.view(np.uint8), axis=1, bitorder="little", count=columns)
    return flags.view(np.bool_)


@shared
def bit_count(bits: np.uint64) -> int:
    """Number of bits that are set (the usual tree of additions)."""
    bits = bits - ((bits >> np.uint64(1)) & np.uint64(0x5555555555555555))
    pairs = np.uint64(0x3333333333333333)
    bits = (bits & pairs) + ((bits >> np.uint64(2)) & pairs)
    bits = (bits + (bits >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return int((bits * np.uint64(0x0101010101010101)) >> np.uint64(56))


@shared
def lowest(bits: np.uint64) -> int:
    """Number of the lowest bit that is set."""
    return bit_count((bits & (~bits + np.uint64(1))) - np.uint64(1))


@shared
def test_bit(row: Bits, number: int) -> bool:
    return bool((row[number // WORD_BITS] >> np.uint64(number % WORD_BITS)) & np.uint64(1))


@shared
def set_bit(row: Bits, number: int, present: bool) -> None:
    bit = np.uint64(1) << np.uint64(number % WORD_BITS)
    row[number // WORD_BITS] = (
        row[number // WORD_BITS] | bit if present else row[number // WORD_BITS] & ~bit
    )


@shared
def hash_integer(number: Any) -> Any:
    """Scatter an integer, or each of an array, over 64 bits.

    Sums of such words say which words were added.
    """
    return splitmix(np.uint64(number) + np.uint64(0x9E3779B97F4A7C15))


@shared
def splitmix(bits: Any) -> Any:
    """Turn a counter into random bits (the finaliser of SplitMix64; Steele et al. 2014)."""
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))
