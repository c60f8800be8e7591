from orbitmc.mln.learning.checkpoint import learning_record as learning_record
from orbitmc.mln.learning.checkpoint import load as load
from orbitmc.mln.learning.checkpoint import save as save
from orbitmc.mln.learning.learner import LearningResult as LearningResult
from orbitmc.mln.learning.learner import LearningSettings as LearningSettings
from orbitmc.mln.learning.learner import learn as learn
from orbitmc.mln.learning.objectives import Step as Step
from orbitmc.mln.learning.proportional_fitting import (
    fit_constraint_weights as fit_constraint_weights,
)
from orbitmc.mln.learning.quality import score as score
from orbitmc.mln.learning.quality import standard_errors as standard_errors
from orbitmc.mln.learning.writing import program_text as program_text
