#!/usr/bin/env python3
"""Checks what the workspace depends on: `cargo metadata --format-version 1 | dependencies.py`.

- Crates that are published, and all that they need, must build with the oldest compiler that they promise (only one
  compiler is at hand in CI, so their own words are taken for it; Clippy checks what our sources use).
- Licences must let people use this library under MIT or Apache-2.0.
"""

import json
import sys

ALLOWED = {
    *("0BSD", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0", "CC0-1.0"),
    *("ISC", "MIT", "MIT-0", "Unicode-3.0", "Unlicense", "Zlib"),
}


def version(text):
    return tuple(map(int, text.split(".")))


def needed(metadata, root):
    """The packages that a user of `root` builds, itself included."""
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    found, todo = set(), [root]
    while todo:
        package = todo.pop()
        if package in found:
            continue
        found.add(package)
        for dependency in nodes[package]["deps"]:
            if any(kind["kind"] != "dev" for kind in dependency["dep_kinds"]):
                todo.append(dependency["pkg"])
    return found


def permitted(licence):
    """Whether the allowed licences alone meet an expression such as "(MIT OR Apache-2.0) AND Unicode-3.0"."""
    parts = (licence or "none").replace("/", " OR ").split(" AND ")
    return all(any(name.strip("() ") in ALLOWED for name in part.split(" OR ")) for part in parts)


def main():
    metadata = json.load(sys.stdin)
    packages = {package["id"]: package for package in metadata["packages"]}
    faults = []
    for member in metadata["workspace_members"]:
        if packages[member]["publish"] == []:
            continue
        promised = packages[member]["rust_version"]
        for package in (packages[p] for p in needed(metadata, member)):
            if package["rust_version"] and version(package["rust_version"]) > version(promised):
                faults.append(f"{packages[member]['name']} promises Rust {promised}, but {package['name']} "
                              f"{package['version']} needs {package['rust_version']}")
    for package in packages.values():
        if not permitted(package["license"]):
            faults.append(f"{package['name']} {package['version']} is under {package['license']}")
    if faults:
        sys.exit("\n".join(faults))
    print(f"{len(packages)} packages: compilers and licences in order")


main()
