"""Three small splits, the archive that holds them, and the triples of a graph as they are there."""

import gzip
import io
import tarfile

TINY_SPLITS = {
    "train": b"a\tlikes\tb\nb\tlikes\tc\nc\tknows\ta\n",
    "valid": b"a\tknows\tb\n",
    "test": b"c\tlikes\ta\nb\tknows\tc\n",
}

# False triples that go with them.
TINY_NEGATIVES = {
    "valid_negatives": b"b\tknows\ta\n",
    "test_negatives": b"c\tlikes\tb\na\tknows\tc\n",
}


def pack(files):
    """Returns the bytes of a .tar.gz with the given files."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return gzip.compress(packed.getvalue(), mtime=0)


TINY_ARCHIVE = pack({f"{split}.txt": content for split, content in TINY_SPLITS.items()})
LABELLED_ARCHIVE = pack(TINY_SPLITS | TINY_NEGATIVES)


def named_triples(graph):
    """Returns the triples of names, by split, without using ids."""
    e, r = graph.entities.names, graph.relations.names
    return {split: [(e[h], r[k], e[t]) for h, k, t in graph.split(split)] for split in TINY_SPLITS}
