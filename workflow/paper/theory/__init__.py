"""The paper's propositions as numerical experiments, in float64 and batched over runs."""
