"""Options for programs: settings by their own names, and what Alchemy's infer calls them.

`--dialect pracmln` means `--set dialect=pracmln`. Options of Alchemy, LoMRF and Tuffy that mean a
setting are taken for it; of the others, an error says what to write here.
"""

import re
from collections.abc import Collection, Sequence

import typer

MEANT = {
    "-cw": "closed",
    "-cwa": "closed",
    "-ow": "opened",
    "-owa": "opened",
    "-f": "query_file",
    "-queryFile": "query_file",
}
"""Options of Alchemy, LoMRF and Tuffy that are settings here."""

CHAINS = "--samples N or --seconds X (the warm-up is chosen by itself)"
SEARCH = "--seconds X for how long to search for the most probable world (-m)"
LAZY = "--memory SIZE: programs are ground as far as evidence requires"
LIFTED = "--method lifted (jumps along exact symmetries)"
PROPAGATION = "--method auto: there is no belief propagation here, but answers have errors"
TEMPERED = "--method lmh, or --method auto, which tempers where that pays"
LEARNING = "orbitmc learn PROGRAM DATABASE -o LEARNED"
NOTHING = "nothing: it is not supported"
NEEDLESS = "nothing: it is not needed"
OURS = {
    "-ms": "--method mcsat",
    "-p": "--method gibbs",
    "-gibbs": "--method gibbs",
    **dict.fromkeys(("-simtp", "-subInterval", "-numRuns", "-numSwap"), TEMPERED),
    **dict.fromkeys(("-bp", "-efbp", "-convThresh", "-convIterations"), PROPAGATION),
    **dict.fromkeys(("-lifted", "-ptpe", "-lis", "-lvg", "-cls", "-useHC", "-useCT"), LIFTED),
    **dict.fromkeys(("-noHC", "-hcCreateType", "-hcCreateNoise", "-lncIter"), LIFTED),
    "-explicitRep": LIFTED,
    "-seed": "--seed N",
    "-maxSeconds": "--seconds X",
    **dict.fromkeys(("-maxSteps", "-burnMinSteps", "-burnMaxSteps", "-minSteps"), CHAINS),
    "-numChains": "--set packs=N, each of 64 chains",
    **dict.fromkeys(("-testConvergence", "-delta", "-epsilonError", "-fracConverged"), "--error X"),
    "-samplesPerTest": "--error X",
    **dict.fromkeys(("-mwsMaxSteps", "-tries", "-targetWt", "-heuristic", "-tabuLength"), SEARCH),
    **dict.fromkeys(("-numSolutions", "-saRatio", "-saTemperature", "-lateSa"), "--method mcsat"),
    **dict.fromkeys(("-lazy", "-lazyNoApprox", "-memLimit", "-lazyLowState"), LAZY),
    "-queryEvidence": "--closed P,Q with the predicates of the query and no -q for them",
    "-outputNetwork": "orbitmc ground PROGRAM DATABASE -o model.uai",
    "-counts": "orbitmc ground PROGRAM DATABASE",
    **dict.fromkeys(("-decision", "-hybrid", "-SA", "-propstdev"), NOTHING),
    "-inferType": "orbitmc best PROGRAM for map; marginals are what infer gives",
    "-mapType": "orbitmc best PROGRAM",
    "-marginal": "nothing: marginals are what infer gives",
    "-mcsatSamples": "--samples N",
    **dict.fromkeys(("-maxFlips", "-maxTries", "-walksatType", "-breakHardClauses"), SEARCH),
    "-dual": "orbitmc best PROGRAM, and orbitmc infer PROGRAM",
    **dict.fromkeys(("-learnwt", "-mle", "-dMaxIter"), LEARNING),
    "-minProb": "--json and leave out what is below",
    "-timeout": "--seconds X",
    "-threads": "--set threads=N",
    "-gz": "-o FILE.gz",
    **dict.fromkeys(("-nopart", "-keepData", "-rawString", "-activateAll", "-conf"), NEEDLESS),
}
"""Options of other programs, and what to write instead."""


SEVERAL_LETTERS = re.compile(r"-[A-Za-z]{2,}")


def translated(
    context: typer.Context, words: Sequence[str], own: Collection[str], settings: Collection[str]
) -> list[str]:
    """The words of a command line with settings behind `--set`; foreign options are refused."""
    found: list[str] = []
    waiting = list(words)
    while waiting:
        word = waiting.pop(0)
        if word == "--":
            return [*found, word, *waiting]
        name, equals, value = word.partition("=")
        setting = _setting(name, own, settings)
        if setting:
            if not equals and not waiting:
                context.fail(f"{name}: expected a value after it")
            found += ["--set", f"{setting}={value if equals else waiting.pop(0)}"]
        elif name in OURS and name not in own:
            context.fail(f"{name} belongs to another program; here write {OURS[name]}")
        elif SEVERAL_LETTERS.fullmatch(name) and not {name, name[:2]} & {*own}:
            context.fail(f"No such option: {name}")
        else:
            found.append(word)
    return found


def _setting(name: str, own: Collection[str], settings: Collection[str]) -> str:
    """The setting that a word names, if it is no option of its own."""
    if name in own:
        return ""
    meant = MEANT.get(name) or (name[2:].replace("-", "_") if name.startswith("--") else "")
    return meant if meant in settings else ""
