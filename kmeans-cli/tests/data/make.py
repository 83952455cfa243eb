#!/usr/bin/env python3
"""Makes the files beside it, with the programs that such files usually come from: NumPy and PyArrow.

Run in this folder; the files are committed, so that tests need neither.
"""

import os
import struct

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

P = np.array(
    [[1.5, 2.25], [1.75, 2.5], [1.25, 2.0], [8.0, 8.5], [8.25, 8.0], [7.75, 9.0], [0.5, 9.5], [1.0, 9.0], [0.25, 9.75]]
)
w = lambda n, b: open(n, "wb").write(b)
t = lambda rows, sep=" ", end="\n": "".join(sep.join(map(str, r)) + end for r in rows).encode()
w("points.txt", t(P))
w("indexed.txt", b"# index, x, y\n" + t([[i + 1, *r] for i, r in enumerate(P)]))
w("crlf.txt", b"\xef\xbb\xbf" + t(P, "\t", "\r\n"))
w("points.csv", b"x,y\n" + t(P, ","))
w("bare.csv", t(P, ","))
w("points.tsv", b"x\ty\n" + t(P, "\t"))
w(
    "named.csv",
    b'name,x,"y, up",id\n' + b"".join(("p%d,%s,%s,%d\n" % (i, r[0], r[1], i)).encode() for i, r in enumerate(P)),
)
w("pandas.csv", b",x,y\n" + b"".join(("%d,%s,%s\n" % (i, r[0], r[1])).encode() for i, r in enumerate(P)))
np.save("points.npy", P)
np.save("fortran.npy", np.asfortranarray(P.astype("f4")))
np.save("half.npy", P.astype("f2"))
np.save("big_endian.npy", P.astype(">f8"))
np.save("integers.npy", (P * 4).astype("i8"))
vec = lambda a, ty: b"".join(struct.pack("<i", len(r)) + r.astype(ty).tobytes() for r in a)
w("points.fvecs", vec(P, "<f4"))
w("points.bvecs", vec(P * 4, "u1"))
w("points.ivecs", vec(P * 4, "<i4"))
tab = pa.table({"x": P[:, 0].astype("f4"), "y": P[:, 1], "id": np.arange(9), "name": ["p%d" % i for i in range(9)]})
pq.write_table(tab, "points.parquet", compression="zstd", row_group_size=4)
pq.write_table(pa.table({"v": [list(r) for r in P]}), "lists.parquet", compression="snappy")
w("weights.txt", b"1\n1\n2\n1\n1\n1\n0\n1\n1\n")
w("start.txt", b"1 2\n8 8\n1 9\n")
os.makedirs("bad", exist_ok=True)
b = lambda n, x: w("bad/" + n, x)
b("ragged.txt", b"1 2\n3 4\n5\n6 7\n")
b("ragged.csv", b"x,y\n1,2\n3,4,5\n")
b("ragged.fvecs", vec(P[:1], "<f4") + vec(P[:1, :1], "<f4"))
b("nan.txt", b"1 2\n3 nan\n")
b("nan.csv", b"x,y\n1,2\nNaN,4\n")
Q = P.copy()
Q[5, 1] = np.nan
np.save("bad/nan.npy", Q)
w("bad/nan.fvecs", vec(Q, "<f4"))
pq.write_table(pa.table({"x": Q[:, 1]}), "bad/nan.parquet")
b("empty.txt", b"")
b("empty.csv", b"x,y\n")
b("empty.npy", b"")
np.save("bad/no_rows.npy", np.zeros((0, 3)))
b("empty.fvecs", b"")
b("empty.parquet", b"")
pq.write_table(tab.select(["x"]).slice(0, 0), "bad/no_rows.parquet")
b("comments.txt", b"# nothing\n\n")
np.save("bad/complex.npy", P.astype("c8"))
np.save("bad/text.npy", np.array(["a", "b"]))
np.save("bad/three.npy", np.zeros((2, 2, 2)))
np.save("bad/wide_integers.npy", np.array([[2**60 + 1]]))
np.save("bad/structured.npy", np.zeros(2, dtype=[("x", "f4"), ("y", "f4")]))
np.save("bad/objects.npy", np.array([None, 1], dtype=object), allow_pickle=True)
b("cut.npy", open("points.npy", "rb").read()[:-7])
b("longer.npy", open("points.npy", "rb").read() + b"x")
b("cut.fvecs", vec(P, "<f4")[:-3])
b("cut.bvecs", vec(P, "u1")[:-1])
b("cut.parquet", open("points.parquet", "rb").read()[:-9])
b("huge_header.npy", b"\x93NUMPY\x02\x00" + struct.pack("<I", 2**31) + b"{")

h = b"{'descr': '<f4', 'fortran_order': False, 'shape': (536870912, 1), }"
h += b" " * (117 - len(h)) + b"\n"
b("huge_shape.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(h)) + h + b"\0" * 16)
b("huge_length.fvecs", struct.pack("<i", 2**29) + b"\0" * 16)
b("negative_length.fvecs", struct.pack("<i", -4) + b"\0" * 16)
b("comma.txt", b"1,5 2,5\n3,5 4,5\n")
b("comma.csv", b"x;y\n1,5;2,5\n")
b("utf16.txt", "1 2\n".encode("utf-16"))
b("missing.csv", b"x,y\n1,\n")
b("nulls.txt", b"1 2\n\0\0\n")
pq.write_table(pa.table({"x": [1.0, None, 3.0]}), "bad/missing.parquet")
pq.write_table(pa.table({"v": [[1.0, 2.0], [3.0]]}), "bad/ragged.parquet")
b("not_parquet.parquet", b"PAR1 is what it says\n")
b("unknown.bin", bytes(range(256)))
b("not_a_model.json", b'{"format": "something else"}\n')
b(
    "ragged_model.json",
    b'{"format":"kmeans model","version":1,"type":"f64","columns":null,"centroids":[[1,2],[3]],"counts":[1,1],"inertia":0,"iterations":1,"converged":true}\n',
)
