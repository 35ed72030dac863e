"""The wheel has the Snakefile too, with rules, profiles, configs and the plug-in that ships."""

from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

# As in the checkout, so that rules find what they name; `collateral where` finds them.
HOME = Path("collateral/_workflow")
SHIPPED = (
    "Snakefile",
    "config.yaml",
    "configs/**/*.py",  # plug-ins of configs/suite
    "configs/**/*.yaml",
    "envs/*.yaml",
    "envs/*.sh",
    "profiles/*/config.yaml",
    "workflow/Snakefile",
    *(f"workflow/paper/**/*.{kind}" for kind in ("csv", "py", "toml")),
    "workflow/report/*.rst",
    "workflow/rules/*.smk",
)


class WithSnakefile(build_py):
    """Build the package, and put beside it what Snakemake reads."""

    def run(self) -> None:
        """Copy, but for an editable install: there the checkout is at hand."""
        super().run()
        if self.editable_mode:
            return
        for file in sorted(file for pattern in SHIPPED for file in Path().glob(pattern)):
            target = self.build_lib / HOME / file
            self.mkpath(str(target.parent))
            self.copy_file(str(file), str(target))


setup(cmdclass={"build_py": WithSnakefile})
