"""devops-bench beside Harbor and Inspect AI + Steward: what `python -m bench peers` is made of.

`environments` installs each peer from its hash-locked file, `subjects` knows each one's commands, `meter` measures
whole process families, `killing` kills drivers in the middle. `plugins` runs inside the peers' environments, by their
public extension points.
"""
