"""What a solver may know of Y: losses over the labels of a row, with their compiled loops."""
