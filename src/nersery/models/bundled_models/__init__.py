"""The models that come with nersery or its extras: encoders, the heads trained for them, and their languages."""
