"""Conversations that outlive their process: stores, what goes into them, how one is taken up."""
