"""Which bound and which codec keep a field good enough: the search behind `caesura tune`.

goals.py      what a user asks for: psnr=80, ssim=0.999, spectrum=1%, gradient=0.1%
qualities.py  how each of these is measured
sources.py    the field's dumps in HDF5 files
trying.py     a field through a codec and back
search.py     the loosest bound that meets the goal, held against all values in the end
picture.py, configuration.py   ratio over quality as SVG; the lines to paste

Assumed: quality falls as the bound is loosened. It does but for noise, so the bound that is found
may not be the loosest of all. That it meets the goal is measured, never assumed.
"""
