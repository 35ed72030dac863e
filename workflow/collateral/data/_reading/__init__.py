"""What data sets share when they read: files of images, .npz, parquet, torchvision's; pixels."""
