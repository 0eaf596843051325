"""One module for each revision, in the order in which `down_revision` chains them."""
