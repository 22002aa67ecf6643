"""The questions and answers of `trainers.predict`."""
