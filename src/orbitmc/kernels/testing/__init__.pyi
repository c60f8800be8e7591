from orbitmc.kernels.testing.exact import KernelReport as KernelReport
from orbitmc.kernels.testing.exact import check_kernel as check_kernel
from orbitmc.kernels.testing.exact import transition_matrix as transition_matrix
