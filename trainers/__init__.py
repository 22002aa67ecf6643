"""Programs: fit, evaluate, predict, and what they share."""

from datasets import let_interrupts_end_imports

let_interrupts_end_imports()
