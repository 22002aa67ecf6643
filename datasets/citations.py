"""BibTeX entries of the benchmarks."""

DETTMERS_2018 = """\
@inproceedings{dettmers2018convolutional,
  title = {Convolutional 2D Knowledge Graph Embeddings},
  author = {Dettmers, Tim and Minervini, Pasquale and Stenetorp, Pontus and Riedel, Sebastian},
  booktitle = {AAAI Conference on Artificial Intelligence},
  year = {2018}
}
"""

TOUTANOVA_2015 = """\
@inproceedings{toutanova2015observed,
  title = {Observed versus Latent Features for Knowledge Base and Text Inference},
  author = {Toutanova, Kristina and Chen, Danqi},
  booktitle = {Workshop on Continuous Vector Space Models and their Compositionality},
  year = {2015}
}
"""

BORDES_2013 = """\
@inproceedings{bordes2013translating,
  title = {Translating Embeddings for Modeling Multi-relational Data},
  author = {Bordes, Antoine and Usunier, Nicolas and Garcia-Duran, Alberto and Weston, Jason and
            Yakhnenko, Oksana},
  booktitle = {Advances in Neural Information Processing Systems},
  year = {2013}
}
"""

KEMP_2006 = """\
@inproceedings{kemp2006learning,
  title = {Learning Systems of Concepts with an Infinite Relational Model},
  author = {Kemp, Charles and Tenenbaum, Joshua B. and Griffiths, Thomas L. and Yamada, Takeshi and
            Ueda, Naonori},
  booktitle = {AAAI Conference on Artificial Intelligence},
  year = {2006}
}
"""
