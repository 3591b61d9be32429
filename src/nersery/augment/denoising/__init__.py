"""augment/denoising."""
