"""Build a model by names: three friends who like to agree on a film."""

import orbitmc as om

films = ["comedy", "drama", "western"]
agree = [[3, 1, 1], [1, 3, 1], [1, 1, 3]]  # weights, not logarithms: three times as likely

model = om.model(
    {"ann": films, "bob": films, "eve": films},
    [
        (["ann"], [2, 1, 1]),
        (["eve"], [1, 1, 4]),
        (["ann", "bob"], agree),
        (["bob", "eve"], agree),
    ],
)
print(om.marginals(model))
