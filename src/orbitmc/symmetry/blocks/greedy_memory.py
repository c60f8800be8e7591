"""What the greedy search for blocks looks at, and what it overwrites."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from orbitmc._util.arrays import Floats, Numbers
from orbitmc.symmetry.detection.encoding.exchangeable import Links

ROUND, STEP, SIZE, MET, INVARIANT, COMMON, CLIQUES, TOUCHED, FRONT = range(9)
"""What `counter` holds: the present round and step; how many members, factors met, factors left
invariant, bonds common to all members, joints that join every two members and variables touched
there are; the first place whose variable may be untouched."""


class Candidates(NamedTuple):
    """Variables in the order in which rounds begin, one class after the other.

    Only variables of one class may share a block. `field[field_start[v]:field_start[v + 1]]` is
    what the values of variable `v` earn by themselves.
    """

    variable: Numbers
    place_of: Numbers
    class_start: Numbers
    class_of: Numbers
    degree: Numbers
    field: Floats
    field_start: Numbers


class Memory(NamedTuple):
    """What the search overwrites; a stamp says in which round or step something last happened.

    `cost[v]` is how many moved factors variable `v` would add, less those that the block has met;
    `has[v]` how many of the common bonds it has; `joins[v]` how many factors join it to members in
    a way in which every two members were joined at that time.
    """

    counter: Numbers
    met_in: Numbers  # per factor: round
    kept_in: Numbers  # per factor: step
    class_in: Numbers  # per factor left invariant: the class of all members in it
    invariant: Numbers
    common_in: Numbers  # per bond: step, the last in which a member had it while all had
    common: Numbers
    inner_in: Numbers  # per joint: round
    inner: Numbers  # per joint: how many of its factors join members
    touched_in: Numbers  # per variable: round
    joined_in: Numbers  # per variable: round
    cost: Numbers
    has: Numbers
    joins: Numbers
    touched: Numbers
    block: Numbers
    total: Floats  # sum of the members' fields
    before: Numbers  # places of the variables that no block has, as a chain
    after: Numbers
    gone: NDArray[np.bool_]


def memory_for(links: Links, candidates: Candidates, values: int) -> Memory:
    variables, factors = len(candidates.place_of), len(links.factor_start) - 1
    places = len(candidates.variable)
    bonds, joints = len(links.holder_start) - 1, int(links.joint.max(initial=-1)) + 1
    most = max(1, int(candidates.degree.max(initial=0)))
    return Memory(
        counter=np.zeros(9, np.int64),
        met_in=np.zeros(factors, np.int64),
        kept_in=np.zeros(factors, np.int64),
        class_in=np.zeros(factors, np.int64),
        invariant=np.zeros(most, np.int64),
        common_in=np.zeros(bonds, np.int64),
        common=np.zeros(most, np.int64),
        inner_in=np.zeros(joints, np.int64),
        inner=np.zeros(joints, np.int64),
        touched_in=np.zeros(variables, np.int64),
        joined_in=np.zeros(variables, np.int64),
        cost=np.zeros(variables, np.int64),
        has=np.zeros(variables, np.int64),
        joins=np.zeros(variables, np.int64),
        touched=np.zeros(variables, np.int64),
        block=np.zeros(variables, np.int64),
        total=np.zeros(max(1, values)),
        before=np.arange(-1, places - 1),
        after=np.arange(1, places + 1),
        gone=np.zeros(places, np.bool_),
    )
