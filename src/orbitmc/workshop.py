"""Where samplers are built and compared: names of many rooms, gathered in one place.

The experiments use these and the names of `orbitmc` itself, and nothing else.
"""

from orbitmc.album import Album
from orbitmc.approximate.equalize import one_coupling, without_fields
from orbitmc.contest import WARM_UP, Course, Point, contest, course
from orbitmc.entrants import Entrant, Ready, by_method, ready
from orbitmc.estimate.divergence import Divergence, divergence
from orbitmc.exact.elimination import marginals as exact_marginals
from orbitmc.exact.perfect import perfect_marginals, perfect_samples
from orbitmc.formats.evidence import read_evidence
from orbitmc.formats.uai_results import read_mar
from orbitmc.graph.builder import Builder
from orbitmc.graph.conditionals import Conditionals, conditionals
from orbitmc.groups.exchange_blocks import ExchangeBlocks
from orbitmc.groups.permutation_group import PermutationGroup
from orbitmc.kernels.alternation import alternation
from orbitmc.kernels.clusters import clusters
from orbitmc.kernels.exchange import shuffle
from orbitmc.kernels.flips import flips
from orbitmc.kernels.gibbs import RandomScan, SystematicScan
from orbitmc.kernels.kernel import Kernel
from orbitmc.kernels.lifting import orbital_kernels
from orbitmc.kernels.mixture import lifted
from orbitmc.kernels.windows import windows
from orbitmc.learn.learning import Settings as LearningSettings
from orbitmc.learn.learning import learn
from orbitmc.learn.worlds import training_worlds
from orbitmc.lifting import Lifting, by_approximate_symmetries, by_exact_symmetries, over_symmetric
from orbitmc.logic.assembly import model_of
from orbitmc.models.chimera import chimera_edges
from orbitmc.models.grid import grid_edges
from orbitmc.models.webkb import FOLDS, WebKB, read_webkb, synthetic_webkb, webkb_program
from orbitmc.report.curves import Row, curves, endings, panels, read_curves, read_error
from orbitmc.report.manifest import manifest_text
from orbitmc.run.pack import Pack, start_pack, walk
from orbitmc.run.schedule import SWEEPS_PER_SAMPLE
from orbitmc.run.snapshots import next_snapshot
from orbitmc.symmetry.automorphisms import automorphisms, orbit_cells
from orbitmc.symmetry.blocks import blocks, moved
from orbitmc.symmetry.exchangeable import Links, links
from orbitmc.truth import Truth, truth_of

__all__ = [
    "FOLDS",
    "SWEEPS_PER_SAMPLE",
    "WARM_UP",
    "Album",
    "Builder",
    "Conditionals",
    "Course",
    "Divergence",
    "Entrant",
    "ExchangeBlocks",
    "Kernel",
    "LearningSettings",
    "Lifting",
    "Links",
    "Pack",
    "PermutationGroup",
    "Point",
    "RandomScan",
    "Ready",
    "Row",
    "SystematicScan",
    "Truth",
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
    "contest",
    "course",
    "curves",
    "divergence",
    "endings",
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
    "read_curves",
    "read_error",
    "read_evidence",
    "read_mar",
    "read_webkb",
    "ready",
    "shuffle",
    "start_pack",
    "synthetic_webkb",
    "training_worlds",
    "truth_of",
    "walk",
    "webkb_program",
    "windows",
    "without_fields",
]
