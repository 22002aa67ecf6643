import numpy as np
import pytest

from quatre_tf import Graph, QuatRE
from quatre_tf.ranking import tiles
from saved_models.scorer import Scorer
from saved_models.versions import export_scorer
from tests.serving import load_python, load_session

ENTITIES = ["Côte d'Ivoire", "New York", " padded ", "100%", "%0D", "日本", "cr\rname", "x\u2028y"]
# With a gap, a double, and what a line of a file cannot hold as it is.
LABELS = {"日本": "Japan", "100%": "100% of\nit", "New York": "City", "%0D": "City"}
RELATIONS = ["borders", "is a", "%25 größer"]


def named(triples):
    """Columns of names for ids [num_triples, 3]."""
    columns = zip(*triples, strict=True)
    return [
        [names[index] for index in column]
        for names, column in zip((ENTITIES, RELATIONS, ENTITIES), columns, strict=True)
    ]


@pytest.fixture(scope="session")
def graph():
    """All eight tails of ("New York", "is a", ?) are known.

    In train the slots of relation 2 differ: its heads are 0 to 4, its tails 4 to 7. Valid has other
    heads and tails of it.
    """
    train = [(h, r, (h + r + i) % 8) for h in range(8) for r in range(2) for i in (1, 4)]
    train += [(1, 1, t) for t in range(8)]
    train += [(h, 2, 4 + (h + i) % 4) for h in range(5) for i in (1, 2)]
    valid = [(h, r, (h + 5) % 8) for h in range(8) for r in (0, 2)]
    test = [(h, r, h) for h in range(8) for r in (0, 1)]
    splits = {"train": named(train), "valid": named(valid), "test": named(test)}
    return Graph.from_names("small", splits, labels=LABELS)


@pytest.fixture(scope="session")
def model(graph):
    """A model whose scores are of the size of trained ones, with two equal entities."""
    rng = np.random.default_rng(3)
    model = QuatRE(graph.num_entities, graph.num_relations, embedding_dim=4)
    for table in model.trainable_variables:
        table.assign(rng.normal(size=table.shape))
    rows = model.entities.embeddings.numpy()
    rows[2] = rows[6]
    model.entities.embeddings.assign(rows)
    return model


@pytest.fixture(scope="session")
def scorer(model, graph):
    return Scorer(model, graph)


@pytest.fixture(scope="session")
def exported(scorer, tmp_path_factory):
    """The folder of one exported version; it looks at three entities at once, or at `top_k`."""
    with pytest.MonkeyPatch.context() as patch:
        # The scorer is traced here. An entity of a later tile must be masked and named as one.
        patch.setattr(tiles, "_LEAST_TOP_K_TILE", 3)
        patch.setattr(tiles, "_TOP_K_SCORES", 1)
        return export_scorer(scorer, tmp_path_factory.mktemp("served"))


@pytest.fixture(scope="session")
def ask_session(exported):
    """`ask(signature, **inputs)` -> outputs as NumPy arrays, by the loader of the server.

    Every signature is optimized when it is first asked, which takes longer than all the questions.
    """
    with load_session(exported) as ask:
        yield ask


@pytest.fixture(scope="session")
def ask_python(exported):
    """The same by `tf.saved_model.load`."""
    with load_python(exported) as ask:
        yield ask


@pytest.fixture(scope="session", params=["python", "session"])
def ask(request):
    """Once for each of them."""
    return request.getfixturevalue(f"ask_{request.param}")
