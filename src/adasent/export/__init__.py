"""A model for other runtimes: an ONNX graph, and a page in one file."""
