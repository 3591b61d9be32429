"""ACLM: templates from attention, mixner, and the two back ends that write sentences from templates."""
