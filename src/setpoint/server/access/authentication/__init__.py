"""Who asks: certificates, tokens of several kinds, nobody, and those who ask in the name of somebody else."""
