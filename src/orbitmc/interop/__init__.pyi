from orbitmc.interop.dimod import from_dimod as from_dimod
from orbitmc.interop.dimod import to_dimod as to_dimod
from orbitmc.interop.dimod_sampler import DimodSampler as DimodSampler
from orbitmc.interop.networkx import from_networkx as from_networkx
from orbitmc.interop.pgmpy import PgmpyInference as PgmpyInference
from orbitmc.interop.pgmpy import from_pgmpy as from_pgmpy
from orbitmc.interop.pyagrum import PyAgrumInference as PyAgrumInference
from orbitmc.interop.pyagrum import from_pyagrum as from_pyagrum
