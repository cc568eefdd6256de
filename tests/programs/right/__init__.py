"""Programs without a mistake."""
