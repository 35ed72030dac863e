"""The yardstick: training, unlearning and evaluation in the style of the public implementations.

torchvision transforms per image in a DataLoader, torch's default threads and layout, gradients of
one example at a time, the plain SVC, a pass over the data for every number, and every trial from
the beginning. Written for this purpose, as plainly as it can be; the networks and the parameters
are those of the package.
"""
