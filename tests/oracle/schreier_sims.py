"""Schreier-Sims as in books (Knuth 1991): the order of a group and membership, slow and simple."""

import math

import numpy as np

from orbitmc.errors import InputError
from orbitmc.groups.permutation_groups import pairs_of, row_in


class StabilizerChain:
    """Level by level, what carries a base point to its orbit and fixes all earlier base points."""

    def __init__(self, group):
        self.pairs = pairs_of(group)
        self.base, self.carriers, self.generators = [], [], []
        for element in group.generators():
            self._add(0, np.array(row_in(self.pairs, element)))

    @property
    def order(self):
        return math.prod(len(found) for found in self.carriers)

    def contains(self, element):
        if element.degree != self.pairs.degree:
            raise InputError(f"expected a permutation of {self.pairs.degree} points")
        try:
            row = row_in(self.pairs, element)
        except InputError:  # it moves a point, or changes a value, that the group keeps
            return False
        return self._sifts(0, row)

    def _sifts(self, level, row):
        """Whether a row is a product of carriers, one for each level from this one on."""
        for base, carriers in zip(self.base[level:], self.carriers[level:], strict=True):
            if int(row[base]) not in carriers:
                return False
            row = carriers[int(row[base])][1][row]
        return bool((row == np.arange(len(row))).all())

    def _add(self, level, row):
        """Let a level have another generator; Schreier generators go one level down."""
        if self._sifts(level, row):
            return
        if level == len(self.base):
            same = np.arange(len(row))
            self.base.append(int(np.flatnonzero(row != same)[0]))
            self.carriers.append({self.base[-1]: (same, same)})
            self.generators.append([])
        carriers, generators = self.carriers[level], self.generators[level]
        generators.append(row)
        waiting = [(point, row) for point in carriers]
        while waiting:
            point, generator = waiting.pop()
            product, there = generator[carriers[point][0]], int(generator[point])
            if there in carriers:
                self._add(level + 1, carriers[there][1][product])
            else:
                carriers[there] = product, np.argsort(product)
                waiting += [(there, one) for one in generators]
