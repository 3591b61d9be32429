"""Hours of hostile use in minutes: `make torture` runs these, `make test` does not."""
