"""All that production code can draw, by the interpreter and a generator that forks."""

from orbitmc.kernels.testing.exact import ChoiceOracle


def every_outcome(draw):
    """Each result of a drawing function, with its chance, by walking through all choices."""
    found, forks = {}, [[]]
    while forks:
        forced = forks.pop()
        rng = ChoiceOracle(forced)
        result = draw(rng)
        found[result] = found.get(result, 0.0) + rng.probability
        for place in range(len(forced), len(rng.taken)):
            others = [branch for branch in rng.options[place] if branch != rng.taken[place]]
            forks.extend([*rng.taken[:place], branch] for branch in others)
    return found
