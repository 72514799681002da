"""Chats: language models of several providers behind one port."""
