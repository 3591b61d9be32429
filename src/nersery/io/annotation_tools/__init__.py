"""Formats of annotation tools, whose labels are character offsets: Label Studio, doccano, Prodigy, brat."""
