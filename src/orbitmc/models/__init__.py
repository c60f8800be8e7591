"""Built-in models: Ising, Chimera, Potts, friends and smokers, WebKB."""
