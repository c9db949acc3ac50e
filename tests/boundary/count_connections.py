# SPDX-License-Identifier: Apache-2.0
"""ADDRESS PORT UID: a server as that user that says "ready", then one line a connection."""
import os
import socket
import sys

address, port, uid = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
os.setresgid(uid, uid, uid)
os.setresuid(uid, uid, uid)
server = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
server.bind((address, port))
server.listen(1024)
print("ready", flush=True)
while True:
    connection, peer = server.accept()
    print("accepted", peer, flush=True)
    connection.close()
