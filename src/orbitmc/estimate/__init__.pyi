from orbitmc.estimate import statistics as statistics
from orbitmc.estimate import tally as tally
from orbitmc.estimate.divergences import Divergence as Divergence
from orbitmc.estimate.divergences import divergence as divergence
from orbitmc.estimate.divergences import expected_divergence as expected_divergence
from orbitmc.estimate.marginals import Marginal as Marginal
from orbitmc.estimate.marginals import Marginals as Marginals
from orbitmc.estimate.statistics import Statistics as Statistics
