"""Initializers in the configs of layers and models."""

from typing import Any

import keras


def serialize_initializer(initializer: keras.initializers.Initializer) -> dict[str, Any]:
    """Returns `keras.initializers.serialize` without the arguments that are None.

    They are defaults, and an older Keras may not have them: Keras 3.15 gave its initializers
    `input_axes` and `output_axes`, which the constructors of Keras 3.12 refuse.
    """
    serialized = keras.initializers.serialize(initializer)
    if serialized["module"] != "keras.initializers":
        # In the user's own class, None need not be the default.
        return serialized
    config = {name: value for name, value in serialized["config"].items() if value is not None}
    return {**serialized, "config": config}
