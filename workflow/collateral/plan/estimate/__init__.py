"""What a config will cost before anything runs: jobs, hours, disk. Formulas, and no torch."""
