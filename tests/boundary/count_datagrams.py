# SPDX-License-Identifier: Apache-2.0
"""ADDRESS PORT: says "ready", then one line a datagram."""
import socket
import sys

server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind((sys.argv[1], int(sys.argv[2])))
print("ready", flush=True)
while True:
    print("accepted", server.recvfrom(100), flush=True)
