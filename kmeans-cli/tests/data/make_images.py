#!/usr/bin/env python3
"""Makes the images beside it, sound ones and bad ones, from the photographs of tests/data. Needs Python's own library only.

Run in this folder; the files are committed.
"""

import os
import struct
import zlib

PHOTOS = "../../../tests/data/"


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width, height, colour_type, rows, bits=8):
    header = struct.pack(">IIBBBBB", width, height, bits, colour_type, 0, 0, 0)
    data = zlib.compress(b"".join(b"\0" + bytes(row) for row in rows), 9)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def read_rgb(name):
    """Rows of an 8-bit RGB PNG that is not interlaced."""
    file, at, data = open(name, "rb").read(), 8, b""
    while at < len(file):
        length, kind = struct.unpack(">I4s", file[at : at + 8])
        body = file[at + 8 : at + 8 + length]
        if kind == b"IHDR":
            width, height, bits, colour_type, _, _, interlaced = struct.unpack(">IIBBBBB", body)
            assert (bits, colour_type, interlaced) == (8, 2, 0)
        data += body if kind == b"IDAT" else b""
        at += 12 + length
    data, rows, above = zlib.decompress(data), [], [0] * (3 * width)
    for y in range(height):
        line = data[y * (3 * width + 1) : (y + 1) * (3 * width + 1)]
        row = []
        for i, value in enumerate(line[1:]):
            left, up = row[i - 3] if i >= 3 else 0, above[i]
            corner = above[i - 3] if i >= 3 else 0
            nearest = min((left, up, corner), key=lambda v: abs(left + up - corner - v))
            row.append((value + [0, left, up, (left + up) // 2, nearest][line[0]]) % 256)
        rows.append(row)
        above = row
    return rows


def smaller(rows, by):
    """Each pixel the mean of by × by."""
    mean = lambda y, x, c: sum(rows[y * by + j][3 * (x * by + i) + c] for j in range(by) for i in range(by)) // by**2
    width = len(rows[0]) // 3 // by
    return [[mean(y, x, c) for x in range(width) for c in range(3)] for y in range(len(rows) // by)]


def w(name, data):
    open(name, "wb").write(data)


photo = smaller(read_rgb(PHOTOS + "coffee.png"), 6)
height, width = len(photo), len(photo[0]) // 3
w("photo.png", png(width, height, 2, photo))
flags = [[[200, 30, 30], [240, 240, 240], [20, 20, 90]][x // 4] for x in range(12)]
w("flag.png", png(12, 6, 2, [sum(flags, [])] * 6))
clear = [[*colour, 255 if y < 3 else 0] for y in range(6) for colour in flags]
w("clear.png", png(12, 6, 6, [sum(clear[12 * y : 12 * y + 12], []) for y in range(6)]))
grey = [sum(([v >> 8, v & 255] for v in range(y * 1000, 60000, 5000)), []) for y in range(3)]
w("grey16.png", png(12, 3, 0, grey, 16))
jpeg = open(PHOTOS + "edge/hopper.jpg", "rb").read()
w("portrait.jpg", jpeg)

os.makedirs("bad_images", exist_ok=True)
b = lambda name, data: w("bad_images/" + name, data)
sound = open("photo.png", "rb").read()
b("cut.png", sound[: len(sound) // 2])
b("cut_header.png", sound[:20])
b("cut.jpg", jpeg[:1200])
b("cut_header.jpg", jpeg[:30])
b("damaged.png", sound[:500] + bytes([sound[500] ^ 255]) + sound[501:])
b("empty.png", b"")
b("text.png", b"1 2\n3 4\n")
b("points.jpg", open("points.npy", "rb").read())
b("other.png", b"GIF89a\x01\0\x01\0\0\0\0;")
b("no_pixels.png", png(0, 5, 2, []))
b("huge.png", png(2_000_000_000, 2_000_000_000, 2, [[0] * 9]))
b("large.png", png(2_000_000, 2_000_000, 2, [[0] * 9]))
b("clear.png", png(2, 1, 6, [[1, 2, 3, 0, 4, 5, 6, 0]]))
