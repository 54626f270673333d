"""Which pages pictures are made for."""

from __future__ import annotations

from typing import Literal

Theme = Literal["auto", "light", "dark"]
"""`auto` follows the reader's preference for dark or light pages."""
