"""What a solver may know of X: kernels, and operators V ↦ K V."""
