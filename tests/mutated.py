"""Values changed at random places, as people who write files by hand change them."""

import copy
from typing import Any

ODD: list[Any] = [
    None,
    True,
    -1,
    0,
    7,
    10**400,
    2**63,
    0.5,
    1e308,
    float("inf"),
    float("nan"),
    "",
    "many",
    "a\0b",
    "\ud800",
    [],
    [[]],
    [1, "two", None],
    {},
    {"x": [1]},
]


def mutated(value: Any, rng: Any) -> Any:
    """A copy with one place replaced, removed, repeated or added; `rng` is a `random.Random`."""
    top = [copy.deepcopy(value)]
    places = list(_places(top))
    holder, key = rng.choice(places)
    change = rng.choice(["replace", "replace", "remove", "repeat", "add"])
    if change == "remove" and holder is not top:
        del holder[key]
    elif change == "repeat" and isinstance(holder, list) and holder is not top:
        holder.insert(key, copy.deepcopy(holder[key]))
    elif change == "add" and isinstance(holder[key], dict):
        holder[key]["odd"] = rng.choice(ODD)
    else:
        holder[key] = copy.deepcopy(rng.choice(ODD))
    return top[0]


def _places(holder: Any) -> Any:
    keys = range(len(holder)) if isinstance(holder, list) else holder
    for key in keys:
        yield holder, key
        if isinstance(holder[key], dict | list):
            yield from _places(holder[key])
