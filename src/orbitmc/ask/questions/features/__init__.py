"""Questions about features of states: how they are noted while chains run, and answered."""
