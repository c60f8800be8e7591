"""Answers drawn by matplotlib, which is loaded when somebody asks for a picture."""
