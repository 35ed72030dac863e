"""Parameters of ideal soft labels: the parameters of LTD's student."""

from collateral.contract.params import StudentParams


class Params(StudentParams):
    """Ideal soft labels (Dolgova and Stich, 2026, section 4): LTD with Retrain as the teacher.

    Upper bound of LTD with a perfect teacher; a control, not a method.

    Formula: LTD's, with q the probabilities of Retrain.
    """

    label = "LTD taught by Retrain"
    paper = "https://arxiv.org/abs/2605.31317"
    touches = frozenset({"retain", "forget images"})
    needs_retrain = True
    inherits = "ltd"
