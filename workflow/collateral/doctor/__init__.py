"""What this machine has of what Collateral needs, and how to get the rest."""
