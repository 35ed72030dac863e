"""What data sets share when they read: pixel statistics, .npz files, torchvision's files."""
