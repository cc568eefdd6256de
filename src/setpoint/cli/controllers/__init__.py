"""Commands for who writes controllers: how they do, what they print, a new one, and one that is being worked on."""
