"""Trying what may be refused."""

from quatre_tf.errors import DataError


def attempt(function, *arguments):
    """Returns (result, None), or (None, message) of a refusal, which is one line."""
    try:
        return function(*arguments), None
    except DataError as error:
        message = str(error)
    assert "\n" not in message
    return None, message
