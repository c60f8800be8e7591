from orbitmc.mln import data as data
from orbitmc.mln import grounding as grounding
from orbitmc.mln import language as language
from orbitmc.mln import learning as learning
from orbitmc.mln import symmetry as symmetry
