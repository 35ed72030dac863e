"""Batches, the training loop, checkpoints and timing: everything that runs on the device."""
