"""Pages and pictures of traces and demo results, in pure Python; nothing is loaded from outside."""
