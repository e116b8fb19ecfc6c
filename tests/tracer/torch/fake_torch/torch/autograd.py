def backward(tensors):
    """Runs what it is given."""
    for call in tensors:
        call()
