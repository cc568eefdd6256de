"""Admission: plugins, policies and webhooks that may change or refuse a write after authorization and before
storage."""
