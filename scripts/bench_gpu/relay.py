"""The peers of `hirgen bench`, which another process speaks for: a line to and fro between standard input and output and its socket."""
import socket
import sys
import threading

connection = socket.socket(socket.AF_UNIX)
connection.connect(sys.argv[1])
with connection, connection.makefile("r") as answers:
    def forward():
        """Names of peers, until there are none."""
        for line in sys.stdin:
            connection.sendall(line.encode())
        connection.shutdown(socket.SHUT_WR)
    threading.Thread(target=forward, daemon=True).start()
    for line in answers:
        print(line, end="", flush=True)
