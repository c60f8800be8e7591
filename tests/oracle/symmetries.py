"""Symmetries by trying every permutation on every state, and colours by looking around naively."""

import itertools
import math

import numpy as np

from tests.oracle import brute_force


def log_weights(graph):
    """Log-weight of every state, as an array with one axis per variable."""
    logs = [brute_force.log_weight(graph, state) for state in brute_force.states(graph)]
    return np.array(logs).reshape(graph.cardinality)


def alike(one, other):
    impossible = np.isneginf(one)
    if not np.array_equal(impossible, np.isneginf(other)):
        return False
    return np.allclose(one[~impossible], other[~impossible], rtol=0, atol=1e-7)


def moved(logs, image, maps):
    """Log-weights of g.x, for all x: variable i goes to image[i], its value through maps[i]."""
    turned = logs.transpose(image)
    return turned[np.ix_(*maps)]


def is_symmetry(logs, image, maps):
    return alike(moved(logs, image, maps), logs)


def count_symmetries(graph, *, values=False):
    """How many permutations of variables (and of values) preserve the distribution."""
    logs = log_weights(graph)
    sizes = [int(size) for size in graph.cardinality]
    count = 0
    for image in itertools.permutations(range(len(sizes))):
        if any(sizes[i] != sizes[image[i]] for i in range(len(sizes))):
            continue
        kept = [[tuple(range(size))] for size in sizes]
        choices = [list(itertools.permutations(range(size))) for size in sizes] if values else kept
        count += sum(is_symmetry(logs, image, maps) for maps in itertools.product(*choices))
    return count


def as_image_and_maps(element, sizes):
    """A permutation in the form that `is_symmetry` takes."""
    image, maps = list(range(len(sizes))), [tuple(range(int(size))) for size in sizes]
    for k, point in enumerate(element.point):
        image[point] = int(element.image[k])
        if element.maps_values:
            first, last = element.map_start[k], element.map_start[k + 1]
            maps[point] = tuple(int(value) for value in element.value_map[first:last])
    return image, maps


def naive_cells(graph, colors):
    """Split cells by what vertices see until nothing changes, with dictionaries."""
    current = [int(color) for color in colors]
    while True:
        seen = [
            (
                current[v],
                tuple(
                    sorted(
                        (int(graph.label[a]), current[graph.neighbor[a]])
                        for a in range(graph.start[v], graph.start[v + 1])
                    )
                ),
            )
            for v in range(graph.vertices)
        ]
        names = {key: number for number, key in enumerate(sorted(set(seen)))}
        following = [names[key] for key in seen]
        if len(names) == len(set(current)):
            return following
        current = following


def same_partition(one, other):
    pairs = set(zip(map(int, one), map(int, other), strict=True))
    return len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs})


def factorial_product(sizes):
    return math.prod(math.factorial(int(size)) for size in sizes)
