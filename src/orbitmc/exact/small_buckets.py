"""Thousands of small buckets in one compiled loop, each way.

All their tables lie in one array: factors, messages, and the messages of larger buckets that they
read. Downward, a second array of the same shape gets how probable the entries of each table are.
"""

import functools
import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from orbitmc._numba.jit import as_written, shared
from orbitmc._numba.tiers import tier
from orbitmc._util.arrays import Floats, Numbers
from orbitmc.exact.problem import Scope
from orbitmc.exact.tree import Tree

TOO_WIDE, CONTRADICTION = 1, 2
BUCKETS_AT_ONCE = 4096  # between two looks at the clock


class SmallBuckets(NamedTuple):
    """Where the tables of each bucket lie, and how its axes move in them.

    The axes of bucket `b`, its variable and what it shares, have `size[axis_start[b]:...]`. Its
    terms `term_start[b]:...` are tables: `segment` says which, and `stride[stride_start[term]:...]`
    how far each axis moves in it. `message` is the table that it sends. Table `t` lies at
    `place[t]:place[t + 1]`; the marginal of bucket `b` at `marginal_start[b]:...`.
    """

    axis_start: Numbers
    size: Numbers
    term_start: Numbers
    segment: Numbers
    stride_start: Numbers
    stride: Numbers
    message: Numbers
    place: Numbers
    marginal_start: Numbers


class Pool(NamedTuple):
    """Tables, the span and the scale of each, and beliefs; marginals of the buckets' variables.

    A span is the logarithm of the largest entry over the smallest that is not 0. What a table was
    divided by is its scale, of which the logarithm is kept: it may be beyond all floats.
    """

    table: Floats
    span: Floats
    log_scale: Floats
    belief: Floats
    marginal: Floats


class Layout(NamedTuple):
    """Small buckets, and which table each factor and each message is."""

    buckets: SmallBuckets
    factor: dict[int, int]
    message: dict[int, int]


def lay_out(tree: Tree, small: Scope) -> Layout:
    """Give all tables that small buckets read or send a place."""
    sizes = tree.sizes
    of_factor: dict[int, int] = {}
    of_message: dict[int, int] = {}
    lengths: list[int] = []
    axis_start, size = [0], list[int]()
    term_start, segment, stride_start, stride = [0], list[int](), list[int](), list[int]()
    message = []

    def number(numbers: dict[int, int], key: int, entries: int) -> int:
        if key not in numbers:
            numbers[key] = len(lengths)
            lengths.append(entries)
        return numbers[key]

    for variable in small:
        axes = (variable, *tree.shared[variable])
        terms = [(of_factor, factor, tree.scopes[factor]) for factor in tree.factors[variable]]
        terms += [(of_message, child, tree.shared[child]) for child in tree.children[variable]]
        for numbers, key, scope in terms:
            step, steps = 1, {}
            for member in reversed(scope):
                steps[member] = step
                step *= sizes[member]
            segment.append(number(numbers, key, step))
            stride_start.append(len(stride))
            stride.extend([steps.get(member, 0) for member in axes])
        size.extend([sizes[member] for member in axes])
        axis_start.append(len(size))
        term_start.append(len(segment))
        message.append(number(of_message, variable, tree.messages[variable]))
    lists = (axis_start, size, term_start, segment, stride_start, stride, message)
    place = np.cumsum([0, *lengths])
    marginal_start = np.cumsum([0, *(sizes[variable] for variable in small)])
    arrays = (*(np.array(numbers, np.int64) for numbers in lists), place, marginal_start)
    return Layout(SmallBuckets(*arrays), of_factor, of_message)


def empty_pool(buckets: SmallBuckets) -> Pool:
    """Numbers of buckets, none of them known."""
    entries, tables = int(buckets.place[-1]), len(buckets.place) - 1
    return Pool(
        table=np.empty(entries),
        span=np.zeros(tables),
        log_scale=np.zeros(tables),
        belief=np.zeros(entries),
        marginal=np.zeros(int(buckets.marginal_start[-1])),
    )


def _work(buckets: SmallBuckets, pool: Pool, first: int, last: int, *rest: object) -> float:
    return (20 + pool.table.size / len(buckets.message) / 100) * (last - first)


# The same with operations on arrays, a bucket at a time; numbers are added in the same order. What
# differs too much for products is left to the interpreter.


class _Bucket(NamedTuple):
    """The lengths of a bucket's axes; its terms, with where each begins and how its axes move."""

    sizes: tuple[int, ...]
    terms: list[tuple[int, int, tuple[int, ...]]]
    sent: int

    def span(self, pool: Pool) -> float:
        """By how many nats products may differ."""
        return float(sum(pool.span[segment] for segment, *_ in self.terms))

    def product(self, table: Floats) -> Floats:
        """All terms together, an axis for each of the bucket's."""
        views = [
            np.ndarray(self.sizes, float, table, 8 * place, tuple(8 * step for step in steps))
            for _, place, steps in self.terms
        ]
        return functools.reduce(np.multiply, views) if views else np.ones(self.sizes)

    def places(self, steps: tuple[int, ...]) -> Numbers:
        """Where each entry is in a table, from where that begins; values go fastest."""
        places = np.zeros(1, np.int64)
        for axis in (*range(1, len(steps)), 0):
            places = (places[:, None] + steps[axis] * np.arange(self.sizes[axis])).reshape(-1)
        return places


def _buckets(buckets: SmallBuckets, first: int, last: int) -> Iterator[tuple[int, _Bucket]]:
    """Some buckets, by their numbers."""
    axes = buckets.axis_start[first : last + 1].tolist()
    term_start = buckets.term_start[first : last + 1].tolist()
    for bucket in range(first, last):
        begin, end = axes[bucket - first : bucket - first + 2]
        terms = slice(*term_start[bucket - first : bucket - first + 2])
        segments = buckets.segment[terms]
        strides = [
            tuple(buckets.stride[start : start + end - begin].tolist())
            for start in buckets.stride_start[terms].tolist()
        ]
        places = buckets.place[segments].tolist()
        yield (
            bucket,
            _Bucket(
                tuple(buckets.size[begin:end].tolist()),
                list(zip(segments.tolist(), places, strides, strict=True)),
                int(buckets.message[bucket]),
            ),
        )


def _send_up_by_arrays(
    buckets: SmallBuckets, pool: Pool, first: int, last: int, most_span: float
) -> tuple[int, int]:
    for number, bucket in _buckets(buckets, first, last):
        if bucket.span(pool) > most_span:
            done, why = as_written(send_up)(buckets, pool, number, number + 1, most_span)
            if why:
                return done, why
            continue
        total = functools.reduce(np.add, bucket.product(pool.table), np.zeros(())).reshape(-1)
        top = float(total.max())
        if top == 0.0:
            return number, CONTRADICTION
        message = pool.table[buckets.place[bucket.sent] : buckets.place[bucket.sent + 1]]
        np.divide(total, top, out=message)
        pool.span[bucket.sent] = math.log(top / total.min(where=total > 0.0, initial=np.inf))
        pool.log_scale[bucket.sent] = math.log(top)
    return last, 0


def _send_down_by_arrays(
    buckets: SmallBuckets,
    pool: Pool,
    first: int,
    last: int,
    most_span: float,
    needed: NDArray[np.bool_],
) -> None:
    for number, bucket in reversed([*_buckets(buckets, first, last)]):
        if not needed[number - first]:
            continue
        if bucket.span(pool) > most_span:
            some = needed[number - first : number - first + 1]
            as_written(send_down)(buckets, pool, number, number + 1, most_span, some)
            continue
        here = slice(buckets.place[bucket.sent], buckets.place[bucket.sent + 1])
        message = pool.table[here] * math.exp(pool.log_scale[bucket.sent])
        ratio = np.zeros(len(message))
        np.divide(pool.belief[here], message, out=ratio, where=message > 0.0)
        product = bucket.product(pool.table) * ratio.reshape(bucket.sizes[1:])
        weights = np.moveaxis(product, 0, -1).reshape(-1)
        for segment, place, steps in bucket.terms:
            belief = pool.belief[place : buckets.place[segment + 1]]
            belief += np.bincount(bucket.places(steps), weights, len(belief))
        start, end = buckets.marginal_start[number : number + 2]
        values = np.broadcast_to(np.arange(bucket.sizes[0]), (len(ratio), bucket.sizes[0]))
        marginal = np.bincount(values.reshape(-1), weights)
        pool.marginal[start:end] = marginal / sum(marginal.tolist())


@shared
def _next_entry(buckets: SmallBuckets, bucket: int, at: Numbers, read: Numbers) -> None:
    """Go on to the next entry of a message: values `at` each axis, and where terms are `read`."""
    axes, term = buckets.axis_start[bucket], buckets.term_start[bucket]
    terms = buckets.term_start[bucket + 1] - term
    for axis in range(buckets.axis_start[bucket + 1] - axes - 1, 0, -1):
        at[axis] += 1
        turn = at[axis] == buckets.size[axes + axis]
        for k in range(terms):
            step = buckets.stride[buckets.stride_start[term + k] + axis]
            read[k] += step * (1 - at[axis]) if turn else step
        if not turn:
            break
        at[axis] = 0


@shared
def _log_weight(buckets: SmallBuckets, pool: Pool, bucket: int, read: Numbers, value: int) -> float:
    """The logarithm of a product that may be beyond all floats; its terms are not."""
    term = buckets.term_start[bucket]
    total = 0.0
    for k in range(buckets.term_start[bucket + 1] - term):
        step = buckets.stride[buckets.stride_start[term + k]]
        weight = pool.table[read[k] + value * step]
        if weight == 0.0:
            return -np.inf
        total += math.log(weight)
    return total


@shared
def _send_wide(buckets: SmallBuckets, pool: Pool, bucket: int, at: Numbers, read: Numbers) -> None:
    """Sum the variable of a bucket out by logarithms: its products differ too much for floats.

    The message is left as logarithms, with the largest as its scale.
    """
    axes, sent = buckets.axis_start[bucket], buckets.message[bucket]
    values = buckets.size[axes]
    highest, lowest = -np.inf, np.inf
    for entry in range(buckets.place[sent], buckets.place[sent + 1]):
        largest = -np.inf
        for value in range(values):
            largest = max(largest, _log_weight(buckets, pool, bucket, read, value))
        total = -np.inf
        if largest > -np.inf:
            share = 0.0
            for value in range(values):
                share += math.exp(_log_weight(buckets, pool, bucket, read, value) - largest)
            total = largest + math.log(share)
            highest, lowest = max(highest, total), min(lowest, total)
        pool.table[entry] = total
        _next_entry(buckets, bucket, at, read)
    pool.log_scale[sent] = highest
    pool.span[sent] = highest - lowest


@tier(_work, _send_up_by_arrays)
def send_up(
    buckets: SmallBuckets, pool: Pool, first: int, last: int, most_span: float
) -> tuple[int, int]:
    """Sum the variables of buckets out; gives the first that cannot be done, and why."""
    most_axes = np.diff(buckets.axis_start[first : last + 1]).max()
    most_terms = np.diff(buckets.term_start[first : last + 1]).max()
    at = np.zeros(most_axes, np.int64)
    read = np.zeros(most_terms, np.int64)
    for bucket in range(first, last):
        axes, term = buckets.axis_start[bucket], buckets.term_start[bucket]
        count = buckets.axis_start[bucket + 1] - axes
        terms = buckets.term_start[bucket + 1] - term
        span = 0.0
        for k in range(terms):
            own_span = pool.span[buckets.segment[term + k]]
            if own_span > most_span:
                return bucket, TOO_WIDE
            span += own_span
            read[k] = buckets.place[buckets.segment[term + k]]
        at[:count] = 0
        sent = buckets.message[bucket]
        start, end = buckets.place[sent], buckets.place[sent + 1]
        if span > most_span:
            _send_wide(buckets, pool, bucket, at, read)
            if pool.log_scale[sent] == -np.inf:
                return bucket, CONTRADICTION
            if pool.span[sent] > most_span:
                return bucket, TOO_WIDE
            for entry in range(start, end):
                pool.table[entry] = math.exp(pool.table[entry] - pool.log_scale[sent])
            continue
        top, low = 0.0, np.inf
        for entry in range(start, end):
            total = 0.0
            for value in range(buckets.size[axes]):
                weight = 1.0
                for k in range(terms):
                    step = buckets.stride[buckets.stride_start[term + k]]
                    weight *= pool.table[read[k] + value * step]
                total += weight
            pool.table[entry] = total
            if total > top:
                top = total
            if 0.0 < total < low:
                low = total
            _next_entry(buckets, bucket, at, read)
        if top == 0.0:
            return bucket, CONTRADICTION
        for entry in range(start, end):
            pool.table[entry] /= top
        pool.span[sent] = math.log(top / low)
        pool.log_scale[sent] = math.log(top)
    return last, 0


@tier(_work, _send_down_by_arrays)
def send_down(
    buckets: SmallBuckets,
    pool: Pool,
    first: int,
    last: int,
    most_span: float,
    needed: NDArray[np.bool_],
) -> None:
    """Turn what is believed of messages into beliefs of all tables, and marginals.

    Buckets that are not `needed`, counted from the first, are left out.
    """
    most_axes = np.diff(buckets.axis_start[first : last + 1]).max()
    most_terms = np.diff(buckets.term_start[first : last + 1]).max()
    at = np.zeros(most_axes, np.int64)
    read = np.zeros(most_terms, np.int64)
    for bucket in range(last - 1, first - 1, -1):
        if not needed[bucket - first]:
            continue
        axes, term = buckets.axis_start[bucket], buckets.term_start[bucket]
        count = buckets.axis_start[bucket + 1] - axes
        terms = buckets.term_start[bucket + 1] - term
        span = 0.0
        for k in range(terms):
            span += pool.span[buckets.segment[term + k]]
            read[k] = buckets.place[buckets.segment[term + k]]
        at[:count] = 0
        sent = buckets.message[bucket]
        marginal = buckets.marginal_start[bucket]
        is_wide = span > most_span
        scale = 1.0 if is_wide else math.exp(pool.log_scale[sent])
        for entry in range(buckets.place[sent], buckets.place[sent + 1]):
            message = pool.table[entry] * scale
            ratio = pool.belief[entry] / message if message > 0.0 else 0.0
            for value in range(buckets.size[axes]):
                if is_wide:
                    log_weight = _log_weight(buckets, pool, bucket, read, value)
                    weight = math.exp(log_weight - pool.log_scale[sent])
                else:
                    weight = 1.0
                    for k in range(terms):
                        step = buckets.stride[buckets.stride_start[term + k]]
                        weight *= pool.table[read[k] + value * step]
                weight *= ratio
                pool.marginal[marginal + value] += weight
                for k in range(terms):
                    step = buckets.stride[buckets.stride_start[term + k]]
                    pool.belief[read[k] + value * step] += weight
            _next_entry(buckets, bucket, at, read)
        total = 0.0
        for place in range(marginal, buckets.marginal_start[bucket + 1]):
            total += pool.marginal[place]
        for place in range(marginal, buckets.marginal_start[bucket + 1]):
            pool.marginal[place] /= total
