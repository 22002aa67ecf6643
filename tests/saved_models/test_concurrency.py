"""Many threads on one loaded model, as a server uses it."""

import threading
from concurrent import futures

from tests.serving import assert_identical, requests_of

THREADS, REQUESTS = 8, 60


def test_threads_get_the_answers_of_one_thread(ask_session, exported, graph):
    names = {"head", "relation", "tail"}
    # A row or two a request, so that many of them fit into a second.
    requests = [
        (signature, {k: v[row::50] if k in names else v for k, v in inputs.items()})
        for row in (0, 7, 49)
        for signature, inputs in requests_of(exported, graph)
    ]
    expected = [ask_session(signature, **inputs) for signature, inputs in requests]
    together = threading.Barrier(THREADS)

    def work(thread):
        together.wait(timeout=60)
        # Every thread begins elsewhere, so that different signatures run at once.
        places = [(thread * 31 + count) % len(requests) for count in range(REQUESTS)]
        return [(p, ask_session(requests[p][0], **requests[p][1])) for p in places]

    with futures.ThreadPoolExecutor(THREADS) as pool:
        answers = list(pool.map(work, range(THREADS)))
    assert [len(answered) for answered in answers] == [REQUESTS] * THREADS
    for place, answer in (pair for answered in answers for pair in answered):
        assert_identical(answer, expected[place])
