"""When an image counts as a near copy of another."""

LEAST_SIDE = 32  # pixels: of smaller images too many look alike
MOST_BITS = 4  # of 63, by which the hashes of near copies differ
