"""Tests of the grow job."""
