"""Read a model, say what was seen, and ask for all marginals."""

from pathlib import Path

import orbitmc as om

model = om.read(Path(__file__).with_name("sprinkler.bif"))
before = om.marginals(model)
after = om.marginals(model, evidence={"grass": "wet"})

print(f"rain is {1 - before['rain'].probability[0]:.3f} probable,")
print(f"and {1 - after['rain'].probability[0]:.3f} once the grass is seen to be wet.")
print(f"How it was found: {after.about.method}, because {after.about.reason}.")
