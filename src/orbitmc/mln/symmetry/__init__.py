"""Constants that are alike, exactly or nearly: renamings and relational approximations."""
