# SPDX-License-Identifier: Apache-2.0
"""A DNS server of one's own on loopback, the C library's resolver against it, asyncio's thread-safe calls, its UDP and UNIX transports, and
descriptors passed between processes. With "fork" as the argument the server is another process, else another thread."""
import asyncio
import multiprocessing
import os
import socket
import struct
import sys
import threading
from multiprocessing.reduction import recv_handle, send_handle

ANSWERS = {1: b"\0\4" + socket.inet_aton("127.0.0.9"), 28: b"\0\20" + socket.inet_pton(socket.AF_INET6, "::1")}

server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.1", 53))


def serve():
    while True:
        query, peer = server.recvfrom(512)
        end = 12
        while query[end]:
            end += query[end] + 1
        kind, = struct.unpack(">H", query[end + 1:end + 3])
        answer = b"\xc0\x0c" + struct.pack(">HHI", kind, 1, 5) + ANSWERS[kind] if kind in ANSWERS else b""
        head = query[:2] + b"\x81\x80" + struct.pack(">HHHH", 1, bool(answer), 0, 0)
        server.sendto(head + query[12:end + 5] + answer, peer)


class Echo(asyncio.DatagramProtocol):
    def connection_made(self, transport):
        self.transport = transport

    def datagram_received(self, data, peer):
        self.transport.sendto(data.upper(), peer)


class Ask(asyncio.DatagramProtocol):
    def __init__(self, answer):
        self.answer = answer

    def connection_made(self, transport):
        transport.sendto(b"echo")

    def datagram_received(self, data, peer):
        self.answer.set_result(data)


async def transports():
    loop = asyncio.get_running_loop()

    def from_thread():
        return asyncio.run_coroutine_threadsafe(asyncio.sleep(0, "threadsafe"), loop).result(5)

    print(await loop.run_in_executor(None, from_thread))
    echo, _ = await loop.create_datagram_endpoint(Echo, local_addr=("127.0.0.1", 0))
    answer = loop.create_future()
    await loop.create_datagram_endpoint(lambda: Ask(answer), remote_addr=echo.get_extra_info("sockname"))
    print(await asyncio.wait_for(answer, 5))
    path = f"resolver-{os.getpid()}.sock"
    await asyncio.start_unix_server(lambda reader, writer: (writer.write(b"unix"), writer.close()), path)
    reader, _ = await asyncio.open_unix_connection(path)
    print(await asyncio.wait_for(reader.read(), 5))
    os.unlink(path)


def child(queue):
    queue.put("from a child")


child_server = None
if sys.argv[1:] == ["fork"]:
    child_server = os.fork()
    if child_server == 0:
        serve()
else:
    threading.Thread(target=serve, daemon=True).start()
print(sorted({entry[4][0] for entry in socket.getaddrinfo("name.example", 80)}))
print(socket.gethostbyname("other.example"))
asyncio.run(transports())
queue = multiprocessing.Queue()
process = multiprocessing.Process(target=child, args=(queue,))
process.start()
print(queue.get(timeout=5))
process.join()
ends = multiprocessing.Pipe()
send_handle(ends[0], 0, None)
print(os.fstat(recv_handle(ends[1])).st_rdev == os.fstat(0).st_rdev)
if child_server:
    os.kill(child_server, 9)
