from orbitmc.lifted.fragment import NotLiftableError as NotLiftableError
from orbitmc.lifted.marginals import AtomClass as AtomClass
from orbitmc.lifted.marginals import Counted as Counted
from orbitmc.lifted.marginals import Lifting as Lifting
from orbitmc.lifted.marginals import count_joint as count_joint
from orbitmc.lifted.marginals import lift as lift
