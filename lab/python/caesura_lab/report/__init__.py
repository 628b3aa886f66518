"""Pictures of what the lab found, in pure Python; nothing is loaded from outside."""
