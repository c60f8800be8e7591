"""Slow, obvious twins: permutations of (point, value) pairs as tuples, groups as sets of them."""

import itertools

import numpy as np

VALUES = 3  # of each point, in tests with value maps


def as_pairs(element, values=VALUES):
    """Where each pair goes; value `a` of point `i` is entry `values * i + a`."""
    images = [(point, list(range(values))) for point in range(element.degree)]
    for k, point in enumerate(element.point.tolist()):
        kept = list(range(values))
        if element.maps_values:
            begin = int(element.map_start[k])
            kept = element.value_map[begin : begin + values].tolist()
        images[point] = int(element.image[k]), kept
    return tuple(values * image + value for image, kept in images for value in kept)


def after(left, right):
    """First `right`, then `left`."""
    return tuple(left[image] for image in right)


def slow_act(pairs, state, values=VALUES):
    """Carry the value at each point to its new point: y[g(i)] = map_i(x[i])."""
    moved = [None] * len(state)
    for point, value in enumerate(state):
        there = pairs[values * point + value]
        moved[there // values] = there % values
    return tuple(moved)


def closure(elements, size):
    """Everything that products of the elements give."""
    identity = tuple(range(size))
    found, new = {identity}, {identity}
    while new:
        new = {after(one, other) for one in elements for other in new} - found
        found |= new
    return found


def closure_of(group, values=VALUES):
    return closure({as_pairs(g, values) for g in group.generators()}, group.degree * values)


def states(points, values):
    return list(itertools.product(range(values), repeat=points))


def orbit_of_state(generators, state, act):
    """All states that generators lead to."""
    found, new = {tuple(state)}, [tuple(state)]
    while new:
        current = new.pop()
        for element in generators:
            there = tuple(int(v) for v in act(element, np.array(current)))
            if there not in found:
                found.add(there)
                new.append(there)
    return found
