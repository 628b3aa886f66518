"""Pages and pictures made from traces and demo results; pure Python, nothing loaded from outside."""
