"""How objects of a custom resource get from one version to another: by a webhook, or by a function in this process."""
