"""Reading, describing and judging image data: NumPy, SciPy, nibabel and Pillow, without torch."""
