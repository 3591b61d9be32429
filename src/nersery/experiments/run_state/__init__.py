"""What a run needs and keeps: its data, its folder, its fingerprint, its times, and what systems share."""
