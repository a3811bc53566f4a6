"""The peers process of `hirgen bench`: forwards lines between standard input and output and the socket of the benchmark."""
import socket
import sys
import threading

connection = socket.socket(socket.AF_UNIX)
connection.connect(sys.argv[1])
with connection, connection.makefile("r") as answers:
    def forward():
        """Forwards names of peers until the input ends."""
        for line in sys.stdin:
            connection.sendall(line.encode())
        connection.shutdown(socket.SHUT_WR)
    threading.Thread(target=forward, daemon=True).start()
    for line in answers:
        print(line, end="", flush=True)
