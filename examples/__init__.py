"""Small programs that show how the parts are used."""
