"""From a trained model to one that is served."""

from datasets import let_interrupts_end_imports

let_interrupts_end_imports()
