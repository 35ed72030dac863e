"""The plain flow: training, unlearning and evaluation in the style of public implementations.

It uses torchvision transforms per image in a DataLoader, torch's default threads and memory layout,
gradients of one example at a time, the plain SVC, one pass over the data for every number, and runs
every trial from the beginning. It was written for comparison, as plainly as possible; the networks
and the parameters are those of the package.
"""
