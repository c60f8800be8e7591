from orbitmc.kernels.mcsat.kernel import SLICE_SAMPLERS as SLICE_SAMPLERS
from orbitmc.kernels.mcsat.kernel import MCSat as MCSat
from orbitmc.kernels.mcsat.kernel import describe_slices as describe_slices
from orbitmc.kernels.mcsat.kernel import mc_sat as mc_sat
from orbitmc.kernels.mcsat.kernel import reachable_variables as reachable_variables
from orbitmc.kernels.mcsat.slices import slice_bytes as slice_bytes
