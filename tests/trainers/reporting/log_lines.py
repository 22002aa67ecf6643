"""Lines of a made-up metrics.jsonl."""

import json

from quatre_tf import METRICS

VALID = dict.fromkeys(METRICS, 0.5)


def train_line(step, loss=0.5):
    return {"group": "train", "step": step, "epoch": step / 5, "seconds": step * 1.0, "loss": loss}


def valid_line(step, hits, group="valid/all"):
    place = {"group": group, "step": step, "epoch": step / 5, "seconds": step * 1.0}
    return {**place, **VALID, "hits@10": hits}


def write_lines(path, lines):
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
