"""QuatRE in plain NumPy, written from the paper: the judge of the TensorFlow code.

It imports nothing of the project, computes in float64 and never uses the folded form.
"""

import numpy as np


def split(rows):
    """[..., 4n] stored as [r | i | j | k] -> [..., 4, n]."""
    return np.reshape(np.asarray(rows, np.float64), (*np.shape(rows)[:-1], 4, -1))


def hamilton(q, p):
    a1, b1, c1, d1 = np.moveaxis(q, -2, 0)
    a2, b2, c2, d2 = np.moveaxis(p, -2, 0)
    return np.stack(
        [
            a1 * a2 - b1 * b2 - c1 * c2 - d1 * d2,
            a1 * b2 + b1 * a2 + c1 * d2 - d1 * c2,
            a1 * c2 - b1 * d2 + c1 * a2 + d1 * b2,
            a1 * d2 + b1 * c2 - c1 * b2 + d1 * a2,
        ],
        axis=-2,
    )


def unit(q):
    return q / np.sqrt(np.sum(q**2, axis=-2, keepdims=True))


def scores(
    heads, relations, tails, head_rotations=None, tail_rotations=None, normalize_relations=True
):
    """f(h, r, t) of rows [batch, 4n], unfolded; a rotation left out is 1 (QuatE, ablations)."""
    head, tail = split(heads), split(tails)
    if head_rotations is not None:
        head = hamilton(head, unit(split(head_rotations)))
    if tail_rotations is not None:
        tail = hamilton(tail, unit(split(tail_rotations)))
    relation = unit(split(relations)) if normalize_relations else split(relations)
    return np.sum(hamilton(head, relation) * tail, axis=(-2, -1))


def model_scores(model, triples):
    """Unfolded scores of triples [batch, 3] from the weights of a QuatRE model of any variant."""
    h, r, t = np.asarray(triples).T
    tables = model.tables()
    rotations = [
        tables[name][r] if name in tables else None for name in ("head_rotation", "tail_rotation")
    ]
    return scores(tables["entity"][h], tables["relation"][r], tables["entity"][t], *rotations)


def competitors(scores, triple, place, known, members=None):
    """Counts the candidates, one by one, that score (better, equally well) as a triple.

    Args:
        scores: [entities, relations, entities], of all triples.
        triple: Its three ids.
        place: What is replaced: 0 the head, 2 the tail.
        known: Triples that do not compete.
        members: The candidates; None: all entities.
    """
    triple, known = tuple(triple), set(map(tuple, known))
    better = equal = 0
    for entity in range(len(scores)) if members is None else members:
        other = (*triple[:place], entity, *triple[place + 1 :])
        if other != triple and other not in known:
            better += scores[other] > scores[triple]
            equal += scores[other] == scores[triple]
    return better, equal


def adagrad(variable, accumulator, gradient, learning_rate, epsilon):
    """One dense step in PyTorch's form; returns the new variable and accumulator."""
    accumulator = accumulator + gradient**2
    return variable - learning_rate * gradient / (np.sqrt(accumulator) + epsilon), accumulator


def moebius_sum(x, y):
    xy, xx, yy = (np.sum(a * b, axis=-1, keepdims=True) for a, b in ((x, y), (x, x), (y, y)))
    return ((1 + 2 * xy + yy) * x + (1 - xx) * y) / (1 + 2 * xy + xx * yy)


def riemannian_adagrad(points, accumulator, gradient, learning_rate):
    """One step of points [rows, dim] of the Poincare ball; the accumulator is [rows, 1].

    With the metric lambda^2 at p, lambda = 2 / (1 - |p|^2).
    """
    metric = 2 / (1 - np.sum(points**2, axis=-1, keepdims=True))
    gradient = gradient / metric**2
    accumulator = accumulator + metric**2 * np.sum(gradient**2, axis=-1, keepdims=True)
    tangent = -learning_rate * gradient / np.sqrt(accumulator)
    length = np.sqrt(np.sum(tangent**2, axis=-1, keepdims=True))
    points = moebius_sum(points, np.tanh(metric * length / 2) * tangent / length)
    return points, accumulator


def lazy_adam(variable, moments, gradient, learning_rate, epsilon, step):
    """One step, the first is number 1 (Kingma and Ba, ICLR 2015, end of section 2).

    Rows whose gradient is zero keep their value and their moments.

    Returns:
        The new variable and moments `[2, rows, width]`: mean and mean square.
    """
    mean = 0.9 * moments[0] + 0.1 * gradient
    square = 0.999 * moments[1] + 0.001 * gradient**2
    rate = learning_rate * np.sqrt(1 - 0.999**step) / (1 - 0.9**step)
    moved = variable - rate * mean / (np.sqrt(square) + epsilon)
    has_gradient = np.any(gradient != 0, axis=1, keepdims=True)
    moments = np.where(has_gradient, np.stack([mean, square]), moments)
    return np.where(has_gradient, moved, variable), moments


# Training. `tables` maps "entity", "relation" and, where they are learned, "head_rotation" and
# "tail_rotation" to rows [rows, 4n]. An objective takes tables and returns (loss, regularization).


def table_scores(tables, triples, normalize_relations):
    """Unfolded scores of triples [batch, 3]."""
    h, r, t = np.asarray(triples).T
    rotations = [
        tables[name][r] if name in tables else None for name in ("head_rotation", "tail_rotation")
    ]
    return scores(
        tables["entity"][h],
        tables["relation"][r],
        tables["entity"][t],
        *rotations,
        normalize_relations=normalize_relations,
    )


def sampled_logistic(tables, triples, labels, *, l2, normalize_relations):
    """The paper's objective on triples [batch, 3] and labels [batch], 1 or -1."""
    loss = np.mean(np.logaddexp(0.0, -labels * table_scores(tables, triples, normalize_relations)))
    h, r, t = triples.T
    gathered = [tables["entity"][h], tables["entity"][t]]
    gathered += [table[r] for name, table in tables.items() if name != "entity"]
    return loss, l2 * sum(4.0 * np.mean(rows**2) for rows in gathered)


def query_triples(tables, entities, relations, candidates):
    """The triples [batch, 3] of queries and candidates, all [batch].

    A relation r below the rows of its table asks for tails, (entity, r, candidate); one beyond them
    for heads, (candidate, r - rows, entity).
    """
    rows = len(tables["relation"])
    asks_tail = relations < rows
    heads, tails = (
        np.where(asks_tail, entities, candidates),
        np.where(asks_tail, candidates, entities),
    )
    return np.stack([heads, relations % rows, tails], axis=1)


def query_scores(tables, entities, relations, num_entities, normalize_relations):
    """The scores [queries, entities] of all candidates."""
    asked = query_triples(
        tables,
        np.repeat(entities, num_entities),
        np.repeat(relations, num_entities),
        np.tile(np.arange(num_entities), len(entities)),
    )
    return table_scores(tables, asked, normalize_relations).reshape(-1, num_entities)


def query_norms(
    tables, entities, relations, is_target, normalize_relations, n3, dura, opposite_dura=0.0
):
    """N3 and DURA, a sum over all targets of the queries."""
    queries, targets = np.nonzero(is_target)
    head = split(tables["entity"])[entities[queries]]
    tail = split(tables["entity"])[targets]
    # The other rotations of a query have the modulus 1.
    vector = split(tables["relation"])[relations[queries] % len(tables["relation"])]
    vector = unit(vector) if normalize_relations else vector
    total = n3 * sum(np.sum(modulus(q) ** 3) for q in (head, vector, tail))
    query = hamilton(head, vector)
    # A conjugate has the same modulus, so sides do not matter.
    total += opposite_dura * np.sum(modulus(hamilton(tail, vector)) ** 2)
    return total + dura * sum(np.sum(modulus(q) ** 2) for q in (head, query, tail))


def adversarial_shares(scores, is_negative, temperature):
    """The weights [queries, entities] of negatives: a softmax of temperature * score."""
    powers = np.where(is_negative, np.exp(temperature * scores), 0.0)
    return powers / np.maximum(powers.sum(axis=1, keepdims=True), 1e-300)


def self_adversarial(
    tables,
    entities,
    relations,
    is_target,
    *,
    num_targets,
    normalize_relations,
    candidates,
    margin,
    temperature,
    constant_tables,
    n3=0.0,
    dura=0.0,
):
    """Equation 6 of Sun et al. (ICLR 2019), a sum over all targets divided by `num_targets`.

    Args:
        tables: The tables.
        entities: As for `softmax`.
        relations: As for `softmax`.
        is_target: As for `softmax`.
        num_targets: As for `softmax`.
        normalize_relations: As for `softmax`.
        candidates: The sampled entities.
        margin: gamma.
        temperature: alpha.
        constant_tables: The tables that the weights of negatives are taken from.
        n3: As for `softmax`.
        dura: As for `softmax`.
    """
    num_entities = is_target.shape[1]
    asked = (entities, relations, num_entities, normalize_relations)
    is_negative = np.isin(np.arange(num_entities), candidates) & ~is_target
    constant_scores = query_scores(constant_tables, *asked)
    shares = adversarial_shares(constant_scores, is_negative, temperature)
    f = query_scores(tables, *asked)
    queries, targets = np.nonzero(is_target)
    negatives = np.sum(shares * np.log1p(np.exp(margin + f)), axis=1)
    loss = np.sum(np.log1p(np.exp(-margin - f[queries, targets])) + negatives[queries])
    regularization = query_norms(
        tables, entities, relations, is_target, normalize_relations, n3, dura
    )
    return loss / num_targets, regularization / num_targets


def softmax(
    tables,
    entities,
    relations,
    is_target,
    *,
    num_targets,
    normalize_relations,
    candidates=None,
    n3=0.0,
    dura=0.0,
    opposite_dura=0.0,
    relation_prediction=0.0,
    kept=None,
):
    """The softmax objective: a sum over all targets of the queries, divided by `num_targets`.

    Args:
        tables: The tables.
        entities: [queries], the entity of each query.
        relations: [queries], its relation; see `query_triples`.
        is_target: [queries, entities] bool.
        num_targets: What the sums are divided by.
        normalize_relations: Whether v_r is normalized.
        candidates: The sampled entities; None for a softmax over all.
        n3: Weight of N3.
        dura: Weight of DURA, without the queries from the targets.
        opposite_dura: Weight of these queries.
        relation_prediction: Weight of the cross-entropy of the relation.
        kept: [queries, width], the factors of the floats of queries in dropout; None for all 1.
    """
    num_entities = is_target.shape[1]
    f = query_scores(tables, entities, relations, num_entities, normalize_relations)
    if kept is not None:
        # Scores are linear in the answer: those of unit vectors are the floats of the query.
        units = np.concatenate([tables["entity"], np.eye(tables["entity"].shape[1])])
        asked = {**tables, "entity": units}
        f = query_scores(asked, entities, relations, len(units), normalize_relations)
        f = (kept * f[:, num_entities:]) @ tables["entity"].T
    if candidates is None:
        powers = np.exp(f)
    else:
        is_sampled = np.isin(np.arange(num_entities), candidates)
        corrected = np.exp(f + np.log(num_entities / len(candidates)))
        powers = np.where(is_target, np.exp(f), np.where(is_sampled, corrected, 0.0))
    queries, targets = np.nonzero(is_target)
    loss = np.sum(np.log(np.sum(powers, axis=1))[queries] - f[queries, targets])
    weights = n3, dura, opposite_dura
    regularization = query_norms(
        tables, entities, relations, is_target, normalize_relations, *weights
    )
    if relation_prediction:
        # Without rows of their own for heads, a relation is predicted from head and tail.
        count, choices = len(targets), len(tables["relation"])
        is_head = relations[queries] >= choices
        asked = query_triples(
            tables,
            np.repeat(np.where(is_head, targets, entities[queries]), choices),
            np.tile(np.arange(choices), count),
            np.repeat(np.where(is_head, entities[queries], targets), choices),
        )
        g = table_scores(tables, asked, normalize_relations).reshape(count, choices)
        found = g[np.arange(count), relations[queries] % choices]
        loss += relation_prediction * np.sum(np.log(np.sum(np.exp(g), axis=1)) - found)
    return loss / num_targets, regularization / num_targets


def modulus(q):
    return np.sqrt(np.sum(q**2, axis=-2))


def central_differences(objective, tables, step=1e-5):
    """The gradient of loss + regularization, one number of the tables at a time."""
    gradients = {name: np.zeros(table.shape) for name, table in tables.items()}
    for name, table in tables.items():
        for place in np.ndindex(table.shape):
            values = []
            for shift in (step, -step):
                moved = {**tables, name: table.copy()}
                moved[name][place] += shift
                values.append(sum(objective(moved)))
            gradients[name][place] = (values[0] - values[1]) / (2.0 * step)
    return gradients


def global_norm(gradients):
    return np.sqrt(sum(np.sum(gradient**2) for gradient in gradients.values()))


def training_step(tables, slots, objective, update, clip_norm=0.0):
    """One step; a `clip_norm` bounds the global norm of the gradient.

    Args:
        tables: The tables by name.
        slots: What the optimizer remembers of each.
        objective: Of the tables.
        update: `(table, slot, gradient)` -> the new table and slot.
        clip_norm: 0 for no bound.

    Returns:
        The new tables and slots; the loss, the regularization and the norm of the gradient before
        clipping, all before the step.
    """
    loss, regularization = objective(tables)
    gradients = central_differences(objective, tables)
    norm = global_norm(gradients)
    scale = clip_norm / norm if clip_norm and norm > clip_norm else 1.0
    updates = {
        name: update(table, slots[name], scale * gradients[name]) for name, table in tables.items()
    }
    tables, slots = ({name: pair[i] for name, pair in updates.items()} for i in (0, 1))
    return tables, slots, (loss, regularization, norm)


def linear_decay(learning_rate, step, last_step, first_step=0.0):
    """`learning_rate` up to `first_step`, then down to 0 at `last_step`."""
    if step <= first_step:
        return learning_rate
    return learning_rate * (last_step - step) / (last_step - first_step)
