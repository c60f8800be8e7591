"""Where samplers are built and compared: names of many rooms, gathered in one place.

The experiments use these and the names of `orbitmc` itself, and nothing else.
"""

from orbitmc.ask.lifting import (
    Lifting,
    by_approximate_symmetries,
    by_exact_symmetries,
    over_symmetric,
)
from orbitmc.compare.curves import Row, curves, endings, panels, read_curves, read_error
from orbitmc.compare.error_curves import WARM_UP, ErrorCurve, Point, error_curve, error_curves
from orbitmc.compare.figures import FigureFiles
from orbitmc.compare.manifest import manifest_text
from orbitmc.compare.reference import Reference, reference_of
from orbitmc.compare.samplers import PreparedSampler, Sampler, by_method, prepared_sampler
from orbitmc.estimate.divergence import Divergence, divergence
from orbitmc.exact.elimination import marginals as exact_marginals
from orbitmc.exact.perfect import perfect_marginals, perfect_samples
from orbitmc.formats.evidence import read_evidence
from orbitmc.formats.uai.uai_results import read_mar
from orbitmc.graph.builder import Builder
from orbitmc.graph.conditionals.conditionals import Conditionals, conditionals
from orbitmc.groups.exchange_blocks import ExchangeBlocks
from orbitmc.groups.permutation_group import PermutationGroup
from orbitmc.kernels.base.gibbs import RandomScan, SystematicScan
from orbitmc.kernels.combine.alternation import alternation
from orbitmc.kernels.combine.lifting import orbital_kernels
from orbitmc.kernels.combine.mixture import lifted
from orbitmc.kernels.jumps.clusters import clusters
from orbitmc.kernels.jumps.exchange import shuffle
from orbitmc.kernels.jumps.flips import flips
from orbitmc.kernels.jumps.windows import windows
from orbitmc.kernels.kernel import Kernel
from orbitmc.logic.grounding.assembly import model_of
from orbitmc.logic.learning.learning import Settings as LearningSettings
from orbitmc.logic.learning.learning import learn
from orbitmc.logic.learning.worlds import training_worlds
from orbitmc.models.chimera import chimera_edges
from orbitmc.models.grid import grid_edges
from orbitmc.models.webkb import FOLDS, WebKB, read_webkb, synthetic_webkb, webkb_program
from orbitmc.run.kept.snapshots import next_snapshot
from orbitmc.run.pack import Pack, start_pack, walk
from orbitmc.run.schedule import SWEEPS_PER_SAMPLE
from orbitmc.symmetry.approximation.equalize import one_coupling, without_fields
from orbitmc.symmetry.blocks.blocks import blocks, moved
from orbitmc.symmetry.detection.automorphisms import automorphisms, orbit_cells
from orbitmc.symmetry.detection.encoding.exchangeable import Links, links

__all__ = [
    "FOLDS",
    "SWEEPS_PER_SAMPLE",
    "WARM_UP",
    "Builder",
    "Conditionals",
    "Divergence",
    "ErrorCurve",
    "ExchangeBlocks",
    "FigureFiles",
    "Kernel",
    "LearningSettings",
    "Lifting",
    "Links",
    "Pack",
    "PermutationGroup",
    "Point",
    "PreparedSampler",
    "RandomScan",
    "Reference",
    "Row",
    "Sampler",
    "SystematicScan",
    "WebKB",
    "alternation",
    "automorphisms",
    "blocks",
    "by_approximate_symmetries",
    "by_exact_symmetries",
    "by_method",
    "chimera_edges",
    "clusters",
    "conditionals",
    "curves",
    "divergence",
    "endings",
    "error_curve",
    "error_curves",
    "exact_marginals",
    "flips",
    "grid_edges",
    "learn",
    "lifted",
    "links",
    "manifest_text",
    "model_of",
    "moved",
    "next_snapshot",
    "one_coupling",
    "orbit_cells",
    "orbital_kernels",
    "over_symmetric",
    "panels",
    "perfect_marginals",
    "perfect_samples",
    "prepared_sampler",
    "read_curves",
    "read_error",
    "read_evidence",
    "read_mar",
    "read_webkb",
    "reference_of",
    "shuffle",
    "start_pack",
    "synthetic_webkb",
    "training_worlds",
    "walk",
    "webkb_program",
    "windows",
    "without_fields",
]
