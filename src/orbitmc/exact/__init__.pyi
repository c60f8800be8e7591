from orbitmc.exact.contraction import marginals as marginals
from orbitmc.exact.plan import EliminationPlan as EliminationPlan
from orbitmc.exact.plan import predict as predict
