"""Are the compared models valid: training sets, Retrain's accuracy, copies of images?

These are the numbers of the sanity checks; findings/checks.py has the checks.
"""

from collateral.contract.metrics import Metric

METRICS = {
    "split_faults": Metric(
        "Split", "train examples that are not in exactly one of forget and retain set", "examples"
    ),
    "trained_on_split": Metric(
        "Trained on the split",
        "1 where Retrain's record has the hash of the retained ids, 0 where of others",
        "",
    ),
    "smallest_batch": Metric(
        "Smallest batch", "examples in the smallest batch that Retrain was trained on", "examples"
    ),
    "base_distance": Metric(
        "Base to Retrain",
        "mean absolute difference of the base's and Retrain's true-class confidence",
        "points",
    ),
    "base_ta_gap": Metric(
        "Retrain to base",
        "Retrain's accuracy minus the base's on test examples of classes that are not affected, "
        "where the base is the user's own",
        "points",
    ),
    "forgotten_in_test": Metric(
        "Forgotten values in test set",
        "test images with a value of the column that is to be forgotten, such as images of the "
        "same person (forget sets of the kind `where`)",
        "examples",
    ),
    "exact_copies": Metric(
        "Exact copies", "forgotten images of which a retained one is a copy", "examples"
    ),
    "near_copies": Metric(
        "Near copies",
        "forgotten images whose perceptual hash a retained one has but for a few bits",
        "examples",
    ),
    "test_copies": Metric(
        "Copies in test set", "test images that are equal to a train image", "examples"
    ),
    "test_copies_forgotten": Metric(
        "Forgotten in test set", "test images that are equal to a forgotten image", "examples"
    ),
    "pixel_range": Metric(
        "Range of pixels", "largest minus smallest pixel value of all images, of 255 at most", ""
    ),
    "constant_images": Metric(
        "Constant images", "train and test images in which all pixels are equal", "examples"
    ),
    "known_ta": Metric(
        "TA of kept classes",
        "accuracy on test examples of classes of which train examples are retained",
        "%",
    ),
    "guessing": Metric(
        "Guessing",
        "accuracy on the same test examples if the largest of their classes is always named",
        "%",
    ),
    "guessing_by_chance": Metric(
        "Guessing, by chance",
        "accuracy on these test examples that guessing exceeds with a probability of 2.5 %",
        "%",
    ),
    "image_side": Metric("Side", "pixels of the shorter side of an image", ""),
}
