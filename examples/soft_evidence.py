"""Somebody in the fog believes the grass is wet: weights instead of a value."""

from pathlib import Path

import orbitmc as om

model = om.read(Path(__file__).with_name("sprinkler.bif"))

for belief in (0.5, 0.7, 0.9, 1.0):
    seen = {"grass": {"dry": 1 - belief, "wet": belief}}
    sprinkler = om.marginals(model, evidence=seen)["sprinkler"]
    print(f"wet with weight {belief}: the sprinkler was on with {sprinkler.probability[1]:.3f}")
