"""From a trained model to one that is served."""
