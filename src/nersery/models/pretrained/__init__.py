"""Loading of pretrained models: folders, the hub, the settings of methods, precision, and the state of PyTorch."""
