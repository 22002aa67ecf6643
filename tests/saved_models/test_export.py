import pathlib
import re
import shlex
import tempfile

import numpy as np
import pytest
import tensorflow as tf

from quatre_tf import Run
from quatre_tf.errors import DataError
from saved_models.versions import export_scorer
from tests import commands
from tests.serving import load_session, meta_graph_of, signatures_of

ROOT = pathlib.Path(__file__).parents[2]


def test_the_model_holds_standard_operations_and_no_keras_object(exported):
    meta_graph = meta_graph_of(exported)
    graph = meta_graph.graph_def
    nodes = [*graph.node, *(node for f in graph.library.function for node in f.node_def)]
    operations = {node.op for node in nodes}
    assert {"MatMul", "TopKV2", "LookupTableFindV2"} <= operations
    assert not [op for op in operations if op.startswith("Xla") or "PyFunc" in op]
    # A sparse read makes every later dense read copy: 20 ms a request at 40,943 x 1024.
    sparse = [node for node in nodes if node.op == "ResourceGather"]
    assert not [n for n in sparse if n.attr["dtype"].type == tf.float32.as_datatype_enum]
    kinds = {node.user_object.identifier for node in meta_graph.object_graph_def.nodes}
    assert kinds
    assert not [kind for kind in kinds if "keras" in kind.lower()]


def test_no_path_of_this_machine_is_published(exported):
    for path in filter(pathlib.Path.is_file, exported.rglob("*")):
        content = path.read_bytes()
        for local in (tempfile.gettempdir(), str(ROOT), str(pathlib.Path.home())):
            assert local.encode() not in content, path


def test_the_warm_up_asks_every_signature_for_a_known_name(exported, ask_session):
    """Read with the classes that the server is built on, which runs it before it offers a model."""
    reason = "needs tensorflow-serving-api (pip install -e '.[test]')"
    log = pytest.importorskip("tensorflow_serving.apis.prediction_log_pb2", reason=reason)
    path = exported / "assets.extra" / "tf_serving_warmup_requests"
    asked, signatures = [], signatures_of(exported)
    for record in tf.data.TFRecordDataset(str(path)).as_numpy_iterator():
        entry = log.PredictionLog.FromString(record)
        assert entry.WhichOneof("log_type") == "predict_log"
        request = entry.predict_log.request
        inputs = {name: tf.make_ndarray(proto) for name, proto in request.inputs.items()}
        asked.append(request.model_spec.signature_name)
        assert set(inputs) == set(signatures[asked[-1]].inputs)
        assert ask_session(asked[-1], **inputs)["status"].tolist() == [b"OK"]
        # The first relation is escaped in the asset file.
        assert inputs["relation"].tolist() == ["%25 größer".encode()]
    assert sorted(asked) == sorted(signatures)


FAILURES = [
    tf.errors.ResourceExhaustedError(None, None, "No space left on device"),
    ValueError("Could not create singleprint.\nUNKNOWN: fingerprint.pb; No space left on device"),
]


@pytest.mark.parametrize("error", FAILURES, ids=type)
def test_a_failing_save_leaves_nothing(scorer, tmp_path, monkeypatch, error):
    def save(scorer, folder, signatures):
        (pathlib.Path(folder) / "saved_model.pb").write_bytes(b"half")
        raise error

    monkeypatch.setattr(tf.saved_model, "save", save)
    with pytest.raises(DataError, match="No space left on device"):
        export_scorer(scorer, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_training_data_are_in_the_filter_only(exported, graph):
    """No variable holds the triples: their number is that of the known answers of each side."""
    reader = tf.train.load_checkpoint(str(exported / "variables" / "variables"))
    shapes = {name: shape for name, shape in reader.get_variable_to_shape_map().items() if shape}
    num_known = len(np.unique(graph.known, axis=0))
    pairs = [np.unique(graph.train[:, columns], axis=0) for columns in ([0, 1], [1, 2])]
    allowed = {num_known, *map(len, pairs), graph.num_entities, graph.num_relations}
    groups = [len(np.unique(graph.known[:, columns], axis=0)) for columns in ([0, 1], [1, 2])]
    allowed |= {*groups}
    shapes.pop("_CHECKPOINTABLE_OBJECT_GRAPH", None)
    assert {shape[0] for shape in shapes.values()} <= allowed


def test_program(model, graph, tmp_path):
    run_dir, out = tmp_path / "run", tmp_path / "out"
    flags = [f"--run_dir={run_dir}", f"--output={out}", "--version=4"]
    code, printed = commands.run("saved_models.export", *flags)
    assert (code, printed.count("\n")) == (1, 1)
    assert printed.startswith("error: ")
    assert not out.exists()
    Run(model, graph, run_dir).save()
    code, printed = commands.run("saved_models.export", *flags)
    exported, question = printed.splitlines()
    assert (code, exported) == (0, f"Exported {out / '4'}")
    _, _, program, *asked = shlex.split(question)
    code, printed = commands.run(f"trainers.{program}", *asked)
    assert code == 0, printed
    assert "--include_known" in printed
    with load_session(out / "4") as ask:
        fitted = ask("score_triples", head=["日本"], relation=["is a"], tail=["100%"])
    # A calibration is fitted on the way, and moves what the logistic function says.
    assert abs(fitted["probability"] - 1 / (1 + np.exp(-fitted["score"]))) > 0.01


def test_the_example_that_asks_an_export(exported):
    question = [f"--model={pathlib.Path(exported).parent}", "--relation=is a", "--top_k=2"]
    code, printed = commands.run("examples.ask_saved_model", *question, "--tail=日本")
    assert code == 0, printed
    assert "(?, is a, 日本)\n  score  probability  entity\n" in printed
    found = re.findall(r"^ *-?\d+\.\d{3} +(\d\.\d{4})  ", printed, re.MULTILINE)
    assert len(found) == 2
    assert 1 >= float(found[0]) >= float(found[1]) >= 0
    code, printed = commands.run("examples.ask_saved_model", *question)
    assert code == 1
    assert "error: Give either --head or --tail; the other one is predicted." in printed
