from orbitmc.tuning.panel import AskedFeatures as AskedFeatures
from orbitmc.tuning.race import RaceResult as RaceResult
from orbitmc.tuning.race import run_race as run_race
from orbitmc.tuning.race import tune_to_structure as tune_to_structure
from orbitmc.tuning.record import Tuning as Tuning
from orbitmc.tuning.record import tuning_from_record as tuning_from_record
from orbitmc.tuning.splits import add_splits as add_splits
from orbitmc.tuning.splits import race_splits as race_splits
