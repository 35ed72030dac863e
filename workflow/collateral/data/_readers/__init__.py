"""Readers that data sets share: image folders, .npz and parquet files, torchvision."""
