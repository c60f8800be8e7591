"""Weights of Markov logic programs, from databases that show what is true."""

from orbitmc._util.loading import load_lazily

__getattr__, __dir__ = load_lazily(
    __name__,
    {
        "LearningResult": "mln.learning.learner",
        "LearningSettings": "mln.learning.learner",
        "Step": "mln.learning.objectives",
        "fit_constraint_weights": "mln.learning.proportional_fitting",
        "learn": "mln.learning.learner",
        "load": "mln.learning.checkpoint",
        "program_text": "mln.learning.writing",
        "learning_record": "mln.learning.checkpoint",
        "save": "mln.learning.checkpoint",
        "score": "mln.learning.quality",
        "standard_errors": "mln.learning.quality",
    },
)
