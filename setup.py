"""Metadata of QuatRE-TF.

A wheel holds `quatre_tf`, and below `quatre_tf/_programs` the packages of the `quatre` command.
Installed as top-level packages they would overwrite others of the same name in site-packages:
`datasets` is Hugging Face's.
"""

import pathlib
import re

from setuptools import find_packages, setup

ROOT = pathlib.Path(__file__).parent
VERSION = re.search(
    r'^__version__ = "(.+)"$', (ROOT / "quatre_tf" / "__init__.py").read_text(), re.MULTILINE
).group(1)

# By the name in the wheel: the folder in the checkout.
PROGRAMS = {
    f"quatre_tf._programs.{package}": package.replace(".", "/")
    for name in ("datasets", "saved_models", "trainers")
    for package in [name, *(f"{name}.{part}" for part in find_packages(name))]
}

ANALYSIS = ["matplotlib>=3.8", "pandas>=2.2", "scikit-learn>=1.4"]
# Made from Markdown and docstrings; Sphinx 8.1 is the last for Python 3.10.
DOCS = ["sphinx>=8.1,<10", "myst-parser>=4,<6", "furo>=2025.12.19"]
# Reads RDF.
PREPARE = ["pyoxigraph>=0.5,<0.6"]
# The example of gRPC. The release that goes with TensorFlow's: those before want an older protobuf.
SERVING = ["tensorflow-serving-api>=2.21,<2.22"]
# The next major release may draw other configurations from the same seed.
TUNE = ["optuna>=5,<6"]

setup(
    name="quatre-tf",
    version=VERSION,
    description="Relation-aware quaternion knowledge-graph embeddings (QuatRE) in TensorFlow",
    long_description=(ROOT / "README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    license="Apache-2.0",
    packages=[*find_packages(include=["quatre_tf", "quatre_tf.*"]), *PROGRAMS],
    package_dir=PROGRAMS,
    package_data={
        "quatre_tf": ["py.typed", "accelerated/*.cc", "accelerated/*.h"],
        "quatre_tf._programs.datasets": ["countries/*.txt"],
        "quatre_tf._programs.trainers": ["explorer/static/*"],
    },
    entry_points={"console_scripts": ["quatre=quatre_tf.__main__:main"]},
    # 3.10 is the oldest and 3.13 the newest Python that TensorFlow 2.21 has wheels for.
    python_requires=">=3.10,<3.14",
    install_requires=[
        # 2.20 computes the same but writes notes to the screen that cannot be silenced; the next
        # minor release has not been tested.
        "tensorflow>=2.21,<2.22",
        "keras>=3.12,<4",
        # 4.9.9 cannot read what it prepared with the protobuf that pip chooses beside it.
        "tensorflow-datasets>=4.9.10,<5",
        # Needed by TFDS to load builders of one's own, but not declared by it.
        "importlib_resources>=6",
        # The format of Keras's weights; Keras brings it.
        "h5py>=3.10",
        "numpy>=1.26",
        # 18 is the first with wheels for Python 3.13.
        "pyarrow>=18",
        "absl-py>=2.1",
        "filelock>=3.13",
        "tqdm>=4.66",
        # TensorFlow 2.21 does not bring it any more.
        "tensorboard>=2.20,<3",
        # saved_models.client asks servers by it; TensorFlow brings it.
        "urllib3>=2,<3",
        # TensorBoard brings it; `quatre explore` serves its page with it.
        "werkzeug>=3,<4",
        # Completion in the shell.
        "argcomplete>=3,<4",
    ],
    extras_require={
        "test": [
            "pytest>=8",
            "pytest-xdist>=3.6",
            # tests/test_wheel.py builds one.
            "setuptools>=68",
            "hypothesis>=6.100",
            "scipy>=1.11",
            # The index of docs/python.md.
            "faiss-cpu>=1.9",
            "ruff>=0.9",
            # Each major release formats a little differently.
            "clang-format>=22,<23",
            "mypy>=1.13",
            # examples/quickstart.ipynb.
            "nbclient>=0.10",
            "ipykernel>=6.29",
            *ANALYSIS,
            *PREPARE,
            *SERVING,
            *TUNE,
        ],
        "analysis": ANALYSIS,
        "docs": DOCS,
        "prepare": PREPARE,
        "tune": TUNE,
    },
    classifiers=[
        "Development Status :: 4 - Beta",
        "Intended Audience :: Science/Research",
        "Programming Language :: Python :: 3 :: Only",
        "Programming Language :: Python :: 3.10",
        "Programming Language :: Python :: 3.11",
        "Programming Language :: Python :: 3.12",
        "Programming Language :: Python :: 3.13",
        "Topic :: Scientific/Engineering :: Artificial Intelligence",
        "Typing :: Typed",
    ],
)
