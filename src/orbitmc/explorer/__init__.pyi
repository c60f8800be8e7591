from orbitmc.explorer._explore import explore as explore
from orbitmc.explorer._explore import require_explorable as require_explorable
from orbitmc.explorer.exploration import Exploration as Exploration
from orbitmc.explorer.exploration import Explored as Explored
from orbitmc.explorer.exploration import explored as explored
from orbitmc.explorer.server import serving as serving
from orbitmc.explorer.subject import Origin as Origin
from orbitmc.explorer.subject import findings_of as findings_of
