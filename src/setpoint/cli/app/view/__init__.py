"""What a person sees while an app starts and runs."""
