"""From a laptop to millions of rows: stages over shards, in processes of this machine or on a Ray cluster."""
