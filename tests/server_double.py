"""Stands in for tensorflow_model_server: its REST and gRPC faces over the session loader.

Written after the server's sources (predict_util.cc, json_tensor.cc, http_rest_api_handler.cc): what
is required, what has defaults, which code and text a refusal has. It serves one version of one
model, on free ports of 127.0.0.1.
"""

import contextlib
import http.server
import json
import re
import threading
from concurrent import futures

import numpy as np
import tensorflow as tf
from google.protobuf import json_format

from tests.serving import signatures_of

HTTP_STATUS = {"OK": 200, "INVALID_ARGUMENT": 400, "FAILED_PRECONDITION": 400, "NOT_FOUND": 404}


class RefusedError(Exception):
    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


class Servable:
    """One version of an exported model, as the server core knows it; `ask` is of its session."""

    def __init__(self, name, folder, ask, version=1):
        self.name, self.version, self.ask = name, version, ask
        self.signatures = signatures_of(folder)

    def check(self, name, version):
        """Refuses requests for another model or version."""
        if name != self.name or version not in (None, self.version):
            wanted = f"Latest({name})" if version is None else f"Specific({name}, {version})"
            raise RefusedError("NOT_FOUND", f"Servable not found for request: {wanted}")

    def predict(self, signature, inputs):
        definition = self.signatures[signature]
        for alias in sorted(set(definition.inputs) - set(inputs) - set(definition.defaults)):
            message = f"Signature input alias: {alias} not found in request and no default value"
            raise RefusedError("INVALID_ARGUMENT", message)
        if extra := set(inputs) - set(definition.inputs):
            message = f"input size does not match signature. Sent extra: {','.join(sorted(extra))}"
            raise RefusedError("INVALID_ARGUMENT", message)
        try:
            return self.ask(signature, **inputs)
        except tf.errors.InvalidArgumentError as error:
            # Python puts a heading before what the runtime says.
            message = error.message.removeprefix("Graph execution error:\n\n")
            raise RefusedError("INVALID_ARGUMENT", message) from error
        except (ValueError, TypeError, OverflowError) as error:
            # Shapes and types that the runtime or the JSON parser would refuse.
            raise RefusedError("INVALID_ARGUMENT", str(error)) from error


def number_as_json(number):
    """As WriteDecimal: six digits, or nine where six are another float."""
    short = float(f"{number:.6g}")
    return short if np.float32(short) == number else float(f"{number:.9g}")


def json_from_array(array):
    write = {"O": bytes.decode, "b": bool}.get(array.dtype.kind, number_as_json)
    return np.vectorize(write, otypes=[object])(array).tolist()


class RestHandler(http.server.BaseHTTPRequestHandler):
    """`servable` is set on a subclass."""

    servable: Servable

    def do_GET(self):
        self._reply("(/metadata)", lambda method: self._metadata())

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self._reply(r":(predict)", lambda method: self._predict(json.loads(body)))

    def _reply(self, methods, answer):
        try:
            match = re.fullmatch(rf"/v1/models/([^/:]+)(?:/versions/(\d+))?{methods}", self.path)
            if not match:
                raise RefusedError(
                    "INVALID_ARGUMENT", f"Malformed request: {self.command} {self.path}"
                )
            self.servable.check(match[1], match[2] and int(match[2]))
            code, content = "OK", answer(match[3])
        except RefusedError as refused:
            code, content = refused.code, {"error": str(refused)}
        content = json.dumps(content, indent=4, ensure_ascii=False).encode()
        self.send_response(HTTP_STATUS[code])
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _predict(self, request):
        name = request.get("signature_name", "serving_default")
        if name not in self.servable.signatures:
            message = f'Serving signature name: "{name}" not found in signature def'
            raise RefusedError("INVALID_ARGUMENT", message)
        inputs = {}
        # Defaults are not looked at: over REST, every input has to be there.
        for alias in sorted(self.servable.signatures[name].inputs):
            if alias not in request["inputs"]:
                message = f"Missing named input: {alias} in 'inputs' object."
                raise RefusedError("INVALID_ARGUMENT", message)
            inputs[alias] = request["inputs"][alias]
        outputs = self.servable.predict(name, inputs)
        return {"outputs": {alias: json_from_array(output) for alias, output in outputs.items()}}

    def _metadata(self):
        definitions = {
            name: json_format.MessageToDict(
                definition,
                preserving_proto_field_name=True,
                always_print_fields_with_no_presence=True,
            )
            for name, definition in self.servable.signatures.items()
        }
        version = str(self.servable.version)
        model = {"name": self.servable.name, "signature_name": "", "version": version}
        metadata = {"signature_def": {"signature_def": definitions}}
        return {"model_spec": model, "metadata": metadata}

    def log_message(self, *_):
        """Keeps quiet."""


@contextlib.contextmanager
def serve_rest(servable):
    """Yields the address."""
    handler = type("Handler", (RestHandler,), {"servable": servable})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextlib.contextmanager
def serve_grpc(servable):
    """Yields HOST:PORT; needs tensorflow-serving-api."""
    import grpc
    from tensorflow_serving.apis import predict_pb2
    from tensorflow_serving.apis import prediction_service_pb2_grpc as service

    def predict(_, request, context):
        with aborting(request.model_spec, context):
            name = request.model_spec.signature_name or "serving_default"
            if name not in servable.signatures:
                message = f'Serving signature key "{name}" not found.'
                raise RefusedError("FAILED_PRECONDITION", message)
            inputs = {alias: tf.make_ndarray(proto) for alias, proto in request.inputs.items()}
            outputs = servable.predict(name, inputs)
            response = predict_pb2.PredictResponse(model_spec=request.model_spec)
            response.model_spec.version.value = servable.version
            for alias, output in outputs.items():
                response.outputs[alias].CopyFrom(tf.make_tensor_proto(output))
            return response

    @contextlib.contextmanager
    def aborting(model, context):
        try:
            servable.check(model.name, model.version.value if model.HasField("version") else None)
            yield
        except RefusedError as refused:
            context.abort(grpc.StatusCode[refused.code], str(refused))

    server = grpc.server(futures.ThreadPoolExecutor(4), options=[("grpc.so_reuseport", 0)])
    servicer = type("Service", (service.PredictionServiceServicer,), {"Predict": predict})
    service.add_PredictionServiceServicer_to_server(servicer(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        server.stop(None).wait()
