"""What a saved tagger's folder holds: its description, CRF, pipeline for transformers, and ONNX network."""
