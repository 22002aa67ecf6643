"""Metadata of the benchmarks: URLs and checksums.

A benchmark is identified by the SHA-256 of its three splits, and of its labelled negatives if it
has any: any archive that holds them is accepted. Where we do not know them, the number of triples
is all that is checked, and the description says so. The checksum of the published archive only
helps users find the right file; it is None where we do not know it.
"""

import dataclasses
import functools
import hashlib
import re

_CONVE = "https://raw.githubusercontent.com/TimDettmers/ConvE/master/"
_CONVE_HOMEPAGE = "https://github.com/TimDettmers/ConvE"
_BORDES = "https://everest.hds.utc.fr/lib/exe/fetch.php?media=en:"
_BORDES_HOMEPAGE = "https://everest.hds.utc.fr/doku.php?id=en:transe"

_CODEX = "https://raw.githubusercontent.com/tsafavi/codex/master/data/triples/"

_WORDNET_LICENSE = "WordNet 3.0 license"
_FREEBASE_LICENSE = "CC-BY 2.5 (Freebase)"
_UNVERIFIED = "Only the number of triples is checked: we know no checksum of its content."

_DETTMERS_2018 = """\
@inproceedings{dettmers2018convolutional,
  title = {Convolutional 2D Knowledge Graph Embeddings},
  author = {Dettmers, Tim and Minervini, Pasquale and Stenetorp, Pontus and Riedel, Sebastian},
  booktitle = {AAAI Conference on Artificial Intelligence},
  year = {2018}
}
"""

_TOUTANOVA_2015 = """\
@inproceedings{toutanova2015observed,
  title = {Observed versus Latent Features for Knowledge Base and Text Inference},
  author = {Toutanova, Kristina and Chen, Danqi},
  booktitle = {Workshop on Continuous Vector Space Models and their Compositionality},
  year = {2015}
}
"""

_BORDES_2013 = """\
@inproceedings{bordes2013translating,
  title = {Translating Embeddings for Modeling Multi-relational Data},
  author = {Bordes, Antoine and Usunier, Nicolas and Garcia-Duran, Alberto and Weston, Jason and
            Yakhnenko, Oksana},
  booktitle = {Advances in Neural Information Processing Systems},
  year = {2013}
}
"""

_KEMP_2006 = """\
@inproceedings{kemp2006learning,
  title = {Learning Systems of Concepts with an Infinite Relational Model},
  author = {Kemp, Charles and Tenenbaum, Joshua B. and Griffiths, Thomas L. and Yamada, Takeshi and
            Ueda, Naonori},
  booktitle = {AAAI Conference on Artificial Intelligence},
  year = {2006}
}
"""

_SAFAVI_2020 = """\
@inproceedings{safavi2020codex,
  title = {CoDEx: A Comprehensive Knowledge Graph Completion Benchmark},
  author = {Safavi, Tara and Koutra, Danai},
  booktitle = {Conference on Empirical Methods in Natural Language Processing},
  year = {2020}
}
"""


@dataclasses.dataclass(frozen=True)
class SplitFile:
    """One split as published.

    Attributes:
        num_triples: Number of its lines.
        sha256: Checksum of its bytes, hexadecimal; None when not known.
    """

    num_triples: int
    sha256: str | None = None

    def __str__(self) -> str:
        return f"sha256 {self.sha256}" if self.sha256 else f"{self.num_triples:,} lines"

    def is_content(self, content: bytes) -> bool:
        """Tells whether this is the split, as far as it is known."""
        if self.sha256:
            return hashlib.sha256(content).hexdigest() == self.sha256
        return content.removesuffix(b"\n").count(b"\n") + 1 == self.num_triples


@dataclasses.dataclass(frozen=True, kw_only=True)
class Benchmark:
    """A published data set.

    Attributes:
        title: Name in the literature.
        url: Where the archive is published; with a slash at its end, the folder of train.txt,
            valid.txt and test.txt (and the files of negatives), which are published one by one.
        archive_sha256: Checksum of the published archive, hexadecimal; None when not known.
        train: The training split.
        valid: The validation split.
        test: The test split.
        description: What it is about, one or two sentences.
        homepage: Where to read more.
        license: Of the data.
        citation: BibTeX.
        labels_title: Title of the benchmark whose labels are used; default: its own.
        valid_negatives: The labelled negatives of the validation split, if there are any.
        test_negatives: Those of the test split.
    """

    title: str
    url: str
    archive_sha256: str | None = None
    train: SplitFile
    valid: SplitFile
    test: SplitFile
    description: str
    homepage: str
    license: str
    citation: str
    labels_title: str = ""
    valid_negatives: SplitFile | None = None
    test_negatives: SplitFile | None = None

    @property
    def name(self) -> str:
        """Name in the catalog: "FB15k-237" is fb15k237, and others keep their hyphens."""
        return re.sub(r"(?<=k)-(?=\d)", "", self.title.lower())

    @property
    def is_archive(self) -> bool:
        """Whether the splits are published in one archive."""
        return not self.url.endswith("/")

    @property
    def splits(self) -> dict[str, SplitFile]:
        """The three splits by name, in their usual order; then the negatives it has."""
        names = ("train", "valid", "test", "valid_negatives", "test_negatives")
        return {name: getattr(self, name) for name in names if getattr(self, name)}

    @property
    def archive_names(self) -> tuple[str, ...]:
        """File names of a local archive, best first."""
        published = re.split("[/:]", self.url)[-1:] if self.is_archive else []
        return tuple(dict.fromkeys([f"{self.title}.tar.gz", *published]))

    @property
    def labels_name(self) -> str:
        """File name of the labels beside a local archive."""
        return f"{self.labels_title or self.title}.labels.tsv"


WN18RR = Benchmark(
    title="WN18RR",
    url=_CONVE + "WN18RR.tar.gz",
    archive_sha256="1eb9152f804c140d163462c0d49f65e5a0b30ab5fbb375c5e3353c11a6249060",
    train=SplitFile(86835, "038612e783c215ee5f3ca9fbfca27b8d0739be1028fe4ee7c174aecf0b83d5df"),
    valid=SplitFile(3034, "453ce7202afa58094a04d2b1560ee2b02660f1c260b32ce6651c8ccedd1028ab"),
    test=SplitFile(3134, "0383bceaaa1096cf3c03ec021ed0048068e2355dbfc0239b292cefdac821cec5"),
    description="WordNet without the inverse relations of WN18, which made that one easy.",
    homepage=_CONVE_HOMEPAGE,
    license=_WORDNET_LICENSE,
    citation=_DETTMERS_2018,
)

FB15K_237 = Benchmark(
    title="FB15k-237",
    url=_CONVE + "FB15k-237.tar.gz",
    archive_sha256="311df7930f842a02979eaa7a802484a6afe62303c07f915f1e6edbc30cbe05e8",
    train=SplitFile(272115, "6e4c2782169af21e9743f3b1d200886f5d595bf6bc504ec1351720949c5cdfae"),
    valid=SplitFile(17535, "cf6309010852f6a8d47a45df830a426415d1ee6f7a3970a8376ff1fb81db4a5c"),
    test=SplitFile(20466, "5711cf41623ceb4eacc50eb6108a3ca6565c7492e3caaf82a3e355cc660d1574"),
    description="Freebase facts of all kinds, without the inverse relations of FB15k.",
    homepage=_CONVE_HOMEPAGE,
    license=_FREEBASE_LICENSE,
    citation=_TOUTANOVA_2015,
)

WN18 = Benchmark(
    title="WN18",
    url=_BORDES + "wordnet-mlj12.tar.gz",
    train=SplitFile(141442, "24c9b02dc57d3ae8ca8467ce355995edee7be8eddc3bd070ee34d3c6fc3c95eb"),
    valid=SplitFile(5000, "13347bfb5e17d1cae003e0bfe29b4716d3ab748e8cfb6af997138d37da3a51dc"),
    test=SplitFile(5000, "d22c19d176d4ba6a6f0d0c6bfce39ab3c16e3b20e1df6f9efe0d9ed86542fa10"),
    description="WordNet with 18 relations. Most test triples are inverses of training triples.",
    homepage=_BORDES_HOMEPAGE,
    license=_WORDNET_LICENSE,
    citation=_BORDES_2013,
    labels_title="WN18RR",
)

FB15K = Benchmark(
    title="FB15k",
    url=_BORDES + "fb15k.tgz",
    train=SplitFile(483142, "f9cdfd2685f6483bd3a499d433919b15d62f0715c6cf18b2ca30c2aa5c47a704"),
    valid=SplitFile(50000, "471929cde9cf74b1caa8348c2b601c8010d6b2f2a56bae49b4ebfd14c9bce855"),
    test=SplitFile(59071, "5b60b4de325482c3368e22d0b7452d465b09a610fea0ce3768d8b1e8b5a7e42a"),
    description="Freebase with 1,345 relations. Most test triples have their inverse in train.",
    homepage=_BORDES_HOMEPAGE,
    license=_FREEBASE_LICENSE,
    citation=_BORDES_2013,
)

_small = functools.partial(
    Benchmark, homepage=_CONVE_HOMEPAGE, license="not stated by its publishers", citation=_KEMP_2006
)

UMLS = _small(
    title="umls",
    url=_CONVE + "umls.tar.gz",
    archive_sha256="26223aa91f0ec8db2324e0f489b9a4425e04d1d0df72ce5cfd62af4b91aee6fd",
    train=SplitFile(5216, "873ef4925516b83e7f6f8cc02b4be51d848828710a7f65a956f0ac4a9e452f35"),
    valid=SplitFile(652, "025c98f8a4891e2a6582ec5b40ee0d904031edad9c52554522f4b7904820c98e"),
    test=SplitFile(661, "a7eb529a3d2810fcc96341ccc97c625a5e202f8389673aa6bd317eeebbb79014"),
    description="The semantic network of the Unified Medical Language System: 135 kinds of things.",
)

KINSHIP = _small(
    title="kinship",
    url=_CONVE + "kinship.tar.gz",
    archive_sha256="a3cb9ca67213eb38133aebc12901195e283d844ebd59f1a6cbf2d4fa12ced4e6",
    train=SplitFile(8544, "738612111a6acf0e39662bde24c7e72a4d1edf20931beea077da367dda689731"),
    valid=SplitFile(1068, "c56f8630a583178b1e569f11a64aa535ae1ce0b0912d8b1e24716be2b37f04da"),
    test=SplitFile(1074, "05e5733265761d55be9c05bfaff5a8d0808df46f9c1e9d66cc3f2fe114e43d88"),
    description="Kinship terms among 104 members of the Alyawarra of Central Australia.",
)

NATIONS = _small(
    title="nations",
    url=_CONVE + "nations.tar.gz",
    archive_sha256="feb3e3e027103089934ea7dfb67d2048d8a43e65d6757a86f2e037acb66f640b",
    train=SplitFile(1592, "0830fa9da8e5bba2ccdaa45b7bdc9130451ba66b09ff2708f35fccaf82473e57"),
    valid=SplitFile(199, "2b337a62e51a2f45c283eac98a70d21b7e0e102136be1539b2a52c652a7b0530"),
    test=SplitFile(201, "3971085165b47b6aeaec68058c6d8d98b3005e929db81268410b95ae4db770ab"),
    description="Relations among 14 nations in the years 1950 to 1965.",
)

_codex = functools.partial(
    Benchmark,
    homepage="https://github.com/tsafavi/codex",
    license="MIT; from Wikidata, which is CC0",
    citation=_SAFAVI_2020,
    labels_title="codex-relations",
)

CODEX_S = _codex(
    title="codex-s",
    url=_CODEX + "codex-s/",
    train=SplitFile(32888, "64f93b7f314f3936a6f65739721429db3f6a7c8f5a1e1104ec3bb544f7434f59"),
    valid=SplitFile(1827, "3831c0e57daef03c3a18cdd1a72e370b496f696c5218883d35c7d2ab8a6a772c"),
    test=SplitFile(1828, "27127fcb34688c4778e88a39ef3c9b540807da846021e9d9685660ac1838aca1"),
    description="Wikidata facts about people, places and works: the small one of three.",
    valid_negatives=SplitFile(
        1827, "c1d84860d6ee786419f1f118d0e9479c6614283b3e267afc158734389036901f"
    ),
    test_negatives=SplitFile(
        1828, "d3fb32c41f3be26d09484ace571965806f1ade0ca712551b0de684c283cdbb22"
    ),
)

CODEX_M = _codex(
    title="codex-m",
    url=_CODEX + "codex-m/",
    train=SplitFile(185584, "d99c3437ab51690391a26d96976adf6e5494dba7ef6902e77000551bfa566556"),
    valid=SplitFile(10310, "11c323096367354940846b9ed940c5dabddc1d20a70474222babe7e7fd28b28d"),
    test=SplitFile(10311, "0575ce05e4ce915e395bb4f708e8df9547989dd4c8c71407cbfd78c19daffcf7"),
    description="Wikidata facts about people, places and works: the middle one of three.",
    valid_negatives=SplitFile(
        10310, "454a4f66ae85495e6e7df0a9f591ed3b8b6efbbcca515414cb641a28625cbcb2"
    ),
    test_negatives=SplitFile(
        10311, "7caaf71f7a85fbd915dce8199f5b1e1744ead58e0675549fcb01c60599944648"
    ),
)

CODEX_L = _codex(
    title="codex-l",
    url=_CODEX + "codex-l/",
    train=SplitFile(551193),
    valid=SplitFile(30622),
    test=SplitFile(30622),
    description="Wikidata facts about people, places and works: the large one of three. "
    + _UNVERIFIED,
)

YAGO3_10 = Benchmark(
    title="YAGO3-10",
    url=_CONVE + "YAGO3-10.tar.gz",
    train=SplitFile(1079040),
    valid=SplitFile(5000),
    test=SplitFile(5000),
    description="Facts of YAGO3 about entities with at least ten relations, mostly people. "
    + _UNVERIFIED,
    homepage=_CONVE_HOMEPAGE,
    license="CC BY 3.0 (YAGO)",
    citation=_DETTMERS_2018,
)

BENCHMARKS = {
    benchmark.name: benchmark
    for benchmark in (
        *(WN18RR, FB15K_237, WN18, FB15K),
        *(UMLS, KINSHIP, NATIONS),
        *(CODEX_S, CODEX_M, CODEX_L, YAGO3_10),
    )
}
# The catalog.
NAMES = (*BENCHMARKS, "countries")
DATASET_HELP = (
    f"A benchmark ({', '.join(NAMES)}), a file of triples, which is split, or a folder with "
    "train.txt, valid.txt and test.txt (head TAB relation TAB tail)."
)
