# SPDX-License-Identifier: Apache-2.0
"""ADDRESS PORT: a UDP receiver and TCP server that says "ready", then one line for everything that reaches it."""
import select
import socket
import sys

address, port = sys.argv[1], int(sys.argv[2])
datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
datagrams.bind((address, port))
server = socket.socket()
server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
server.bind((address, port))
server.listen(64)
print("ready", flush=True)
while True:
    for ready in select.select([datagrams, server], [], [])[0]:
        print("arrived", ready.recvfrom(64) if ready is datagrams else ready.accept()[1], flush=True)
