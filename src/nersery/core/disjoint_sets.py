"""Disjoint sets (union–find)."""

from __future__ import annotations


class DisjointSets:
    """Disjoint sets of items; each item is in its own set until it is joined with another.

    >>> sets = DisjointSets()
    >>> sets.join("a", "b")
    >>> sets.root("a") == sets.root("b"), sets.size(sets.root("a")), sets.size("c")
    (True, 2, 1)
    """

    def __init__(self) -> None:
        self._parents: dict[object, object] = {}
        self._sizes: dict[object, int] = {}

    def root(self, item: object) -> object:
        """Return the representative of an item's set."""
        path = []
        while (parent := self._parents.get(item, item)) != item:
            path.append(item)
            item = parent
        self._parents.update(dict.fromkeys(path, item))
        return item

    def join(self, one: object, other: object) -> None:
        """Merge the sets of two items."""
        root, into = self.root(one), self.root(other)
        if root != into:
            self._parents[root] = into
            self._sizes[into] = self.size(into) + self._sizes.pop(root, 1)

    def size(self, root: object) -> int:
        """The number of items in the set of ``root``."""
        return self._sizes.get(root, 1)
