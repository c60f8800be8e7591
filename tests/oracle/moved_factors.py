"""Which factors a block moves, from the definition: by trying permutations and states."""

import itertools

import numpy as np


def members_of(found):
    return [found.rows(block).reshape(-1).tolist() for block in range(found.blocks)]


def moved_by_definition(graph, members):
    """Factors that some permutation of the members turns into one that the model does not have.

    A factor of one or two variables may be traded for others, of several copies each for one; a
    larger one must stay as it is.
    """
    return [
        factor
        for factor in range(graph.factors)
        if not (_is_kept(graph, factor, members) or _is_traded(graph, factor, members))
    ]


def _is_kept(graph, factor, members):
    """Whether all swaps, and so all permutations, leave a factor as it is."""
    swaps = [{one: two, two: one} for one, two in itertools.combinations(members, 2)]
    return all(_is_image(graph, factor, factor, swap) for swap in swaps)


def _is_traded(graph, factor, members):
    scope = graph.scope_of(factor).tolist()
    if len(scope) > 2:
        return False
    own = [variable for variable in scope if variable in members]
    turn = sum(_is_image(graph, factor, other, {}) for other in range(factor))
    everywhere = (
        dict(zip(own, to, strict=True)) for to in itertools.permutations(members, len(own))
    )
    return all(_copies(graph, factor, image) > turn for image in everywhere)


def _copies(graph, factor, image):
    return sum(_is_image(graph, factor, other, image) for other in range(graph.factors))


def _is_image(graph, factor, other, image):
    """Whether one factor is the other one with variables renamed, by trying every state."""
    mine, theirs = graph.scope_of(factor).tolist(), graph.scope_of(other).tolist()
    if {image.get(v, v) for v in mine} != set(theirs):
        return False
    sizes = [range(int(graph.cardinality[v])) for v in theirs]
    table, renamed = graph.full_table(factor), graph.full_table(other)
    return all(
        np.isclose(
            table[tuple(state[image.get(v, v)] for v in mine)],
            renamed[values],
            rtol=1e-9,
            atol=1e-9,
        )
        for values in itertools.product(*sizes)
        for state in [dict(zip(theirs, values, strict=True))]
    )
