"""Random events as text, and their meaning by an evaluator that shares nothing with ours.

The text of an event is also an expression of Python, if each variable is the name of its value.
"""

import itertools

import numpy as np


def random_event(rng, model, depth=3):
    """Text over the variables of a model; brackets wherever Python and we might differ."""
    kind = rng.choice(["leaf", "and", "or", "not"]) if depth else "leaf"
    if kind == "leaf":
        return _leaf(rng, model)
    parts = [f"({random_event(rng, model, depth - 1)})" for _ in range(rng.integers(2, 4))]
    return f"not {parts[0]}" if kind == "not" else f" {kind} ".join(parts)


def _leaf(rng, model):
    place = int(rng.integers(len(model.names)))
    name, values = model.names[place], model.values[place]
    words = [repr(str(word)) for word in rng.choice(values, size=rng.integers(1, 3))]
    other = model.names[int(rng.integers(len(model.names)))]
    return {
        0: f"{name} == {words[0]}",
        1: f"{name} != {words[0]}",
        2: f"{name} in ({', '.join(words)},)",
        3: f"{name} not in ({', '.join(words)},)",
        4: f"{name} == {other}",
    }[int(rng.integers(5))]


def holds(text, model):
    """Whether an event holds in every state, with an axis for each variable."""
    found = np.zeros([len(values) for values in model.values], dtype=bool)
    for state in itertools.product(*(range(size) for size in found.shape)):
        words = {name: model.values[place][state[place]] for place, name in enumerate(model.names)}
        found[state] = eval(text, {}, words)
    return found
