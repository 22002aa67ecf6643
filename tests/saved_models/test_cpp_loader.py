"""The C++ loader, on which TensorFlow Serving is built, against the Python one."""

import pathlib
import shutil
import subprocess

import numpy as np
import pytest
import tensorflow as tf

from tests.serving import load_python

SOURCE = pathlib.Path(__file__).with_name("ask.cc")


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """The compiled `ask.cc`; takes about 15 seconds."""
    library = pathlib.Path(tf.sysconfig.get_lib())
    if not shutil.which("g++"):
        pytest.skip("g++ is not installed")
    if not (library / "libtensorflow_cc.so.2").exists():
        pytest.skip("this TensorFlow wheel has no libtensorflow_cc.so.2")
    path = tmp_path_factory.mktemp("cpp") / "ask"
    command = ["g++", "-w", *tf.sysconfig.get_compile_flags(), str(SOURCE), "-o", str(path)]
    command += [f"-L{library}", f"-Wl,-rpath,{library}", "-Wl,--no-as-needed"]
    command += ["-l:libtensorflow_cc.so.2", "-l:libtensorflow_framework.so.2"]
    subprocess.run(command, check=True)
    return path


def test_same_answers_as_in_python(program, exported):
    command = [program, exported, "日本", "is a", "3"]
    result = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60)
    status, *lines = result.stdout.splitlines()
    with load_python(exported) as ask:
        question = {"head": ["日本"], "relation": ["is a"]}
        expected = ask("predict_tails", **question, top_k=3, filtered=True)
    assert status == "OK"
    scores, names = zip(*(line.split("\t") for line in lines), strict=True)
    assert list(names) == [name.decode() for name in expected["entities"][0]]
    # The program prints six digits.
    np.testing.assert_allclose(np.array(scores, float), expected["scores"][0], rtol=1e-5)
