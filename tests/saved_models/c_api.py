"""The C++ loader of SavedModels, on which TensorFlow Serving is built, by TensorFlow's C API."""

import contextlib
import ctypes
import os

import numpy as np
import tensorflow as tf

from tests.serving import signatures_of

_STRING_BYTES = 24  # sizeof(TF_TString)
_LIBRARY = ctypes.CDLL(os.path.join(tf.sysconfig.get_lib(), "libtensorflow_cc.so.2"))
_CODES = {value: name for name, value in vars(tf.errors).items() if isinstance(value, int)}


class _Output(ctypes.Structure):
    """`TF_Output`."""

    _fields_ = [("operation", ctypes.c_void_p), ("index", ctypes.c_int)]


def _function(name, result=ctypes.c_void_p):
    function = getattr(_LIBRARY, name)
    function.restype = result
    return function


def _pointer(address):
    """As an argument; a bare integer would be cut to 32 bits."""
    return ctypes.c_void_p(address)


@contextlib.contextmanager
def load(path):
    """Yields `ask(signature, inputs)` -> (status, outputs), with the server's filling of defaults.

    `inputs` are arrays by name. The status is "OK" or the error code of the session.
    """
    status = _pointer(_function("TF_NewStatus")())
    graph = _pointer(_function("TF_NewGraph")())
    options = _pointer(_function("TF_NewSessionOptions")())
    tags = (ctypes.c_char_p * 1)(b"serve")
    session = _pointer(
        _function("TF_LoadSessionFromSavedModel")(
            options, None, os.fsencode(path), tags, 1, graph, None, status
        )
    )
    assert _status(status) == "OK"
    signatures = signatures_of(path)

    def place_of(info):
        name, index = info.name.split(":")
        operation = _function("TF_GraphOperationByName")(graph, name.encode())
        return _Output(operation, int(index))

    def ask(signature, inputs):
        definition = signatures[signature]
        defaults = {name: tf.make_ndarray(proto) for name, proto in definition.defaults.items()}
        given = {**defaults, **inputs}
        feeds = (_Output * len(given))(*(place_of(definition.inputs[name]) for name in given))
        values = (ctypes.c_void_p * len(given))(*map(_tensor_of, given.values()))
        names = list(definition.outputs)
        fetches = (_Output * len(names))(*(place_of(definition.outputs[name]) for name in names))
        found = (ctypes.c_void_p * len(names))()
        _function("TF_SessionRun", None)(
            *(session, None, feeds, values, len(given), fetches, found, len(names)),
            *(None, 0, None, status),
        )
        answer = {n: _array_of(_pointer(t)) for n, t in zip(names, found, strict=True) if t}
        for tensor in filter(None, [*values, *found]):
            _function("TF_DeleteTensor", None)(_pointer(tensor))
        return _status(status), answer

    yield ask
    _function("TF_CloseSession", None)(session, status)
    _function("TF_DeleteSession", None)(session, status)


def _status(status):
    return _CODES[_function("TF_GetCode", ctypes.c_int)(status)]


def _tensor_of(value):
    array = np.asarray(value)
    is_text = array.dtype.kind in "OSU"
    dtype = tf.string if is_text else tf.as_dtype(array.dtype)
    size = array.size * (_STRING_BYTES if is_text else array.itemsize)
    dims = (ctypes.c_int64 * array.ndim)(*array.shape)
    allocate = _function("TF_AllocateTensor")
    tensor = allocate(dtype.as_datatype_enum, dims, array.ndim, ctypes.c_size_t(size))
    data = _function("TF_TensorData")(_pointer(tensor))
    if not is_text:
        ctypes.memmove(data, np.ascontiguousarray(array).ctypes.data, size)
        return tensor
    for place, text in enumerate(array.ravel()):
        content = text if isinstance(text, bytes) else text.encode()
        string = _pointer(data + place * _STRING_BYTES)
        _function("TF_StringInit", None)(string)
        _function("TF_StringCopy", None)(string, content, ctypes.c_size_t(len(content)))
    return tensor


def _array_of(tensor):
    rank = _function("TF_NumDims", ctypes.c_int)(tensor)
    shape = [_function("TF_Dim", ctypes.c_int64)(tensor, axis) for axis in range(rank)]
    dtype = tf.as_dtype(_function("TF_TensorType", ctypes.c_int)(tensor))
    data = _function("TF_TensorData")(tensor)
    if dtype != tf.string:
        content = ctypes.string_at(data, _function("TF_TensorByteSize", ctypes.c_size_t)(tensor))
        return np.frombuffer(content, dtype.as_numpy_dtype).reshape(shape)
    texts = []
    for place in range(int(np.prod(shape))):
        string = _pointer(data + place * _STRING_BYTES)
        start = _function("TF_StringGetDataPointer")(string)
        size = _function("TF_StringGetSize", ctypes.c_size_t)(string)
        texts.append(ctypes.string_at(start, size))
    return np.array(texts, object).reshape(shape)
