"""What the verbs of the command line share: options, progress, Ctrl-C, answers."""
