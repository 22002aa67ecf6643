"""How queries are compared with candidate rows.

A score function turns (entity, relation) into a query row. A similarity compares queries with rows
of the entity table; higher is more similar. Training, ranking and serving use nothing else.

Distances are compared tile by tile: memory never holds `[queries, candidates, width]`.
"""

import abc
from collections.abc import Callable
from typing import ClassVar

import tensorflow as tf

from quatre_tf.sparse_rows import put_in_place

# Components whose terms are added in one pass over a tile: the sum is written once for all of them.
_UNROLLED = 16
# Floats of a vector register: XLA adds up that many sums at a time, but one sum float by float.
_LANES = 16
# Squared distances below this share of the squared norms lose digits to cancellation.
_CANCELS = 2.0**-6
# Rows of a product that were found to be rounded alike; six are not always.
ROW_BLOCK = 48
# Far below the square of any distance that matters.
_TINY = 1e-30
# Pairs whose distance is computed by subtraction at once.
_PAIRS_AT_ONCE = 1 << 14


class Similarity(abc.ABC):
    """Compares queries with candidate rows.

    Attributes:
        linear: Whether a score is the dot product of query and row. Gradients then have a closed
            form, and entities can be added without training.
        finite_by_norms: Whether scores are finite if `(|query| + |row|)^2` cannot overflow.
        dtype: The dtype that scores are computed in.
        gradient_rows: Rows that `tile_gradients` is meant for at once.
    """

    linear: ClassVar[bool] = False
    finite_by_norms: ClassVar[bool] = False
    dtype: tf.DType = tf.float32
    gradient_rows: ClassVar[int] = 256

    @abc.abstractmethod
    def pairs(self, queries: tf.Tensor, rows: tf.Tensor) -> tf.Tensor:
        """Returns scores `[...]` of queries `[..., width]` and rows that broadcast against them."""

    def pairs_of_sides(self, queries: tf.Tensor, rows: tf.Tensor, second: tf.Tensor) -> tf.Tensor:
        """Returns the scores `[batch, k]` of rows, each with one of two queries.

        Args:
            queries: `[batch, 2, width]`.
            rows: `[batch, k, width]`.
            second: `[batch, k]` bool, which rows are compared with the second query.
        """
        return self.pairs(tf.where(second[..., tf.newaxis], queries[:, 1:], queries[:, :1]), rows)

    @abc.abstractmethod
    def tile(self, rows: tf.Tensor, queries: tf.Tensor) -> tf.Tensor:
        """Returns the scores `[num_rows, batch]` of rows and queries `[batch, width]`."""

    def portable_tile(self, rows: tf.Tensor, queries: tf.Tensor) -> tf.Tensor:
        """Returns `tile` by standard operations only, for models that are served."""
        return self.tile(rows, queries)

    def tile_gradients(
        self, rows: tf.Tensor, queries: tf.Tensor, scores: tf.Tensor, upstream: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Returns the gradients of rows and of queries, given the gradient of their scores.

        The default differentiates `tile` automatically.

        Args:
            rows: `[num_rows, width]`.
            queries: `[batch, width]`.
            scores: `[num_rows, batch]`, their `tile`.
            upstream: `[num_rows, batch]`, its gradient.
        """
        del scores
        with tf.GradientTape() as tape:
            tape.watch([rows, queries])
            tile = self.tile(rows, queries)
        return tape.gradient(tile, [rows, queries], tf.cast(upstream, self.dtype))


class Dot(Similarity):
    """The dot product."""

    linear = finite_by_norms = True

    def pairs(self, queries: tf.Tensor, rows: tf.Tensor) -> tf.Tensor:
        """Returns `query . row`."""
        return tf.reduce_sum(queries * rows, axis=-1)

    def tile(self, rows: tf.Tensor, queries: tf.Tensor) -> tf.Tensor:
        """Returns one matrix product."""
        return products(rows, queries)


class Euclidean(Similarity):
    """The negative Euclidean distance.

    A tile is one matrix product, by `|q - t|^2 = |q|^2 - 2 q . t + |t|^2`. Where that cancels, the
    distance is computed again by subtraction.
    """

    finite_by_norms = True

    def pairs(self, queries: tf.Tensor, rows: tf.Tensor) -> tf.Tensor:
        """Returns `-|q - t|`."""
        return -root_of_squares(queries - rows)

    def tile(self, rows: tf.Tensor, queries: tf.Tensor) -> tf.Tensor:
        """Returns `-|q - t|` of all pairs."""
        return self._tile(_distances, put_in_place, rows, queries)

    def portable_tile(self, rows: tf.Tensor, queries: tf.Tensor) -> tf.Tensor:
        """Returns `tile` by standard operations."""
        distances, put = _distances.python_function, tf.tensor_scatter_nd_update
        return self._tile(distances, put, rows, queries)

    def _tile(
        self,
        distances: Callable[..., tf.Tensor],
        put: Callable[..., tf.Tensor],
        rows: tf.Tensor,
        queries: tf.Tensor,
    ) -> tf.Tensor:
        row_norms, query_norms = _squared_norms(rows, queries)
        scores = distances(products(rows, queries), row_norms, query_norms)
        # Few queries have such a row in a tile: only their columns are looked through.
        largest = _CANCELS * (query_norms[0] + tf.reduce_max(row_norms))
        columns = tf.where(tf.square(tf.reduce_max(scores, axis=0)) < largest)[:, 0]

        def subtracted() -> tf.Tensor:
            norms = row_norms + tf.gather(query_norms, columns, axis=1)
            found = tf.where(tf.square(tf.gather(scores, columns, axis=1)) < _CANCELS * norms)
            places = tf.stack([found[:, 0], tf.gather(columns, found[:, 1])], axis=1)
            return put(scores, places, self._subtracted(rows, queries, places))

        return tf.cond(tf.size(columns) > 0, subtracted, lambda: scores)

    def _subtracted(self, rows: tf.Tensor, queries: tf.Tensor, places: tf.Tensor) -> tf.Tensor:
        """Returns the scores `[k]` of pairs `[k, 2]` of a row and a query."""

        def add(start: tf.Tensor, scores: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            row_ids, query_ids = tf.unstack(places[start : start + _PAIRS_AT_ONCE], axis=1)
            found = self.pairs(tf.gather(queries, query_ids), tf.gather(rows, row_ids))
            return start + _PAIRS_AT_ONCE, tf.concat([scores, found], axis=0)

        state = tf.constant(0), tf.zeros([0], rows.dtype)
        shapes = tf.TensorShape([]), tf.TensorShape([None])
        return tf.while_loop(
            lambda start, _: start < tf.shape(places)[0], add, state, shapes, parallel_iterations=1
        )[1]

    def tile_gradients(
        self, rows: tf.Tensor, queries: tf.Tensor, scores: tf.Tensor, upstream: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Returns `-(q - t) / |q - t|`, summed: two matrix products."""
        # A distance of zero has no direction; the terms of a tiny one cancel, and are bounded.
        least = 1e-6 * tf.add(*_squared_norms(rows, queries)) + _TINY
        weights = upstream * tf.math.rsqrt(tf.maximum(tf.square(scores), least))
        return (
            tf.linalg.matmul(weights, queries) - tf.reduce_sum(weights, 1)[:, tf.newaxis] * rows,
            tf.linalg.matmul(weights, rows, transpose_a=True)
            - tf.reduce_sum(weights, 0)[:, tf.newaxis] * queries,
        )


def _squared_norms(rows: tf.Tensor, queries: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns `|t|^2` `[num_rows, 1]` and `|q|^2` `[1, batch]`."""
    return (
        tf.reduce_sum(tf.square(rows), axis=1)[:, tf.newaxis],
        tf.reduce_sum(tf.square(queries), axis=1)[tf.newaxis],
    )


@tf.function(jit_compile=True, reduce_retracing=True, autograph=False)
def _distances(dots: tf.Tensor, row_norms: tf.Tensor, query_norms: tf.Tensor) -> tf.Tensor:
    """Returns `-|q - t|` `[num_rows, batch]` in one pass."""
    return -root(row_norms + query_norms - 2.0 * dots)


def products(rows: tf.Tensor, queries: tf.Tensor) -> tf.Tensor:
    """Returns the dot products `[num_rows, batch]`.

    Without AVX-512, some of the last rows were found to be rounded otherwise, depending on their
    number modulo six: they are filled up to a product of their own. Its rounding still differed
    from that of 1,584 rows of width 1,024, so ranking fills up its tiles (`scan_tiles`).
    """
    # The queries are transposed, not the table, which is by far the larger one.
    columns = tf.transpose(queries)
    rest = tf.shape(rows)[0] % ROW_BLOCK

    def in_parts() -> tf.Tensor:
        whole = tf.shape(rows)[0] - rest
        last = tf.pad(rows[whole:], [[0, ROW_BLOCK - rest], [0, 0]])
        parts = [tf.linalg.matmul(part, columns) for part in (rows[:whole], last)]
        return tf.concat([parts[0], parts[1][:rest]], axis=0)

    return tf.cond(rest > 0, in_parts, lambda: tf.linalg.matmul(rows, columns))


def root_of_squares(rows: tf.Tensor) -> tf.Tensor:
    """Returns the Euclidean norms `[...]` of rows `[..., width]`; of zero, with gradient zero."""
    return root(sum_components(tf.square(rows)))


def root(squares: tf.Tensor) -> tf.Tensor:
    """Returns the root of sums of squares; where it is zero, so is the gradient."""
    return tf.sqrt(tf.maximum(squares, _TINY))


def sum_components(rows: tf.Tensor) -> tf.Tensor:
    """Returns the sums `[...]` of rows `[..., width]`."""
    parts, rest = divmod(rows.shape[-1], _LANES)
    if not rest:
        lanes = tf.reshape(rows, tf.concat([tf.shape(rows)[:-1], [parts, _LANES]], axis=0))
        rows = tf.reduce_sum(lanes, axis=-2)
    return tf.reduce_sum(rows, axis=-1)


class Separable(Similarity):
    """The negative sum of a term of each component of the difference between query and row.

    A component is one float, or `parts` of them: part p of component j is element
    `p * width / parts + j`.

    Attributes:
        parts: Floats per component.
    """

    parts: ClassVar[int] = 1

    @abc.abstractmethod
    def term(self, *differences: tf.Tensor) -> tf.Tensor:
        """Returns the term of components whose parts differ by tensors of one shape."""

    def pairs(self, queries: tf.Tensor, rows: tf.Tensor) -> tf.Tensor:
        """Returns minus the sum of the terms."""
        return -sum_components(self.term(*tf.split(queries - rows, self.parts, axis=-1)))

    @tf.function(jit_compile=True, autograph=False)
    def tile(self, rows: tf.Tensor, queries: tf.Tensor) -> tf.Tensor:
        """Returns minus the sum of the terms of all pairs."""
        return self.portable_tile(rows, queries)

    def portable_tile(self, rows: tf.Tensor, queries: tf.Tensor) -> tf.Tensor:
        """Returns `tile` by standard operations.

        Component by component: compiled, that is eight times as quick as a sum over the last axis
        of all differences, which is not vectorized.
        """
        rows, queries = self._by_component(rows), self._by_component(queries)

        def add(start: tf.Tensor, sums: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            for j in range(_UNROLLED):
                sums -= self.term(*self._differences(rows, queries, start + j))
            return start + _UNROLLED, sums

        state = tf.constant(0), tf.zeros([tf.shape(rows)[2], tf.shape(queries)[2]], rows.dtype)
        return tf.while_loop(
            lambda start, _: start < rows.shape[1], add, state, parallel_iterations=1
        )[1]

    @tf.function(jit_compile=True, autograph=False)
    def tile_gradients(
        self, rows: tf.Tensor, queries: tf.Tensor, scores: tf.Tensor, upstream: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Returns sums of the derivatives of `term`, by the upstream gradient."""
        del scores
        rows_by_component, queries_by_component = map(self._by_component, (rows, queries))

        def of_component(component: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            differences = self._differences(rows_by_component, queries_by_component, component)
            with tf.GradientTape() as tape:
                tape.watch(differences)
                terms = self.term(*differences)
            weighted = tape.gradient(terms, differences, output_gradients=upstream)
            return (
                tf.stack([tf.reduce_sum(part, axis=1) for part in weighted]),
                tf.stack([-tf.reduce_sum(part, axis=0) for part in weighted]),
            )

        components = tf.range(rows.shape[1] // self.parts)
        found = tf.map_fn(of_component, components, fn_output_signature=(rows.dtype, rows.dtype))
        # [components, parts, n] -> [n, width]
        of_rows, of_queries = (
            tf.reshape(tf.transpose(gradient, [2, 1, 0]), tf.shape(given))
            for gradient, given in zip(found, (rows, queries), strict=True)
        )
        return of_rows, of_queries

    def _by_component(self, rows: tf.Tensor) -> tf.Tensor:
        """Returns `[parts, components, n]` of rows `[n, width]`, filled up to whole passes."""
        components = rows.shape[1] // self.parts
        split = tf.reshape(tf.transpose(rows), [self.parts, components, tf.shape(rows)[0]])
        return tf.pad(split, [[0, 0], [0, -components % _UNROLLED], [0, 0]])

    def _differences(
        self, rows: tf.Tensor, queries: tf.Tensor, component: tf.Tensor
    ) -> list[tf.Tensor]:
        return [
            queries[part, component][tf.newaxis] - rows[part, component][:, tf.newaxis]
            for part in range(self.parts)
        ]


class Manhattan(Separable):
    """The negative L1 distance."""

    def term(self, *differences: tf.Tensor) -> tf.Tensor:
        """Returns `|x|`."""
        return tf.abs(differences[0])


class ComplexModulus(Separable):
    """The negative sum of the moduli of complex differences; rows are `[real | imaginary]`."""

    parts = 2

    def term(self, *differences: tf.Tensor) -> tf.Tensor:
        """Returns `|x + iy|`."""
        real, imaginary = differences
        return root(tf.square(real) + tf.square(imaginary))


DOT = Dot()
EUCLIDEAN = Euclidean()
MANHATTAN = Manhattan()
COMPLEX_MODULUS = ComplexModulus()
