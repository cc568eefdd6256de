"""Why an object is as it is: facts are gathered from a server, and explained in words."""
