"""Functions of arrays that compute every number in the results."""
