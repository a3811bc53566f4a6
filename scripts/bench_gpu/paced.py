"""Processes that wait for a command before each step, so that several can share a machine without running at the same time."""
import contextlib
import os
import queue
import socket
import subprocess
import threading


class Silence(Exception):
    """A process ended, or did not answer in time. The message has the end of its output."""


class Paced:
    """A process that reads commands from standard input and answers in lines that begin with an agreed word."""

    def __init__(self, command, env=None):
        self.process = subprocess.Popen([str(word) for word in command], env=env, text=True, bufsize=1,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.lines, self.tail = queue.Queue(), []
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self.tail = [*self.tail[-30:], line]
            self.lines.put(line)
        self.lines.put(None)

    def wait_for(self, word, seconds):
        """The rest of the next line that begins with word; raises Silence."""
        while True:
            try:
                line = self.lines.get(timeout=seconds)
            except queue.Empty:
                raise Silence(f"no answer in {seconds:.0f} s: {self.said()}") from None
            if line is None:
                raise Silence(self.said())
            if line.startswith(word):
                return line[len(word):].strip()

    def say(self, text):
        """Sends a line."""
        try:
            self.process.stdin.write(text + "\n")
        except OSError:
            pass  # the process has ended: wait_for raises with its output

    def said(self):
        """The end of its output without lines that begin with "#", or its exit code."""
        text = [line.strip() for line in self.tail if line.strip() and not line.startswith("#")]
        return " / ".join(text[-6:])[-1000:] or f"exit code {self.process.poll()}"

    def finish(self, seconds):
        """Closes the input of the process and waits until the process ends; kills it after seconds."""
        try:
            self.process.stdin.close()
        except OSError:
            pass
        self._await(seconds)

    def stop(self):
        """Terminates the process; kills it if it is still there after 5 s."""
        self.process.terminate()
        self._await(5)

    def _await(self, seconds):
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Ranks:
    """The ranks of a program on this machine, started as by `hirgen run`. Rank 0 takes the commands and answers for all."""

    def __init__(self, command, ranks):
        self._port = contextlib.ExitStack()
        port = self._port.enter_context(reserved_port())
        self.ranks = [Paced(command, {**os.environ, **own_variables(rank, ranks, port)}) for rank in range(ranks)]
        self.wait_for, self.say = self.ranks[0].wait_for, self.ranks[0].say

    def said(self):
        """The end of each rank's output."""
        return "; ".join(f"[{rank}] {process.said()}" for rank, process in enumerate(self.ranks))

    def finish(self, seconds):
        """Closes the input of each rank and waits until it ends; kills it after seconds."""
        for process in self.ranks:
            process.finish(seconds)
        self._port.close()

    def stop(self):
        """Terminates all ranks."""
        for process in self.ranks:
            process.process.terminate()
        for process in self.ranks:
            process.stop()
        self._port.close()


@contextlib.contextmanager
def reserved_port():
    """Reserves a TCP port of this machine. The socket is bound but does not listen, so that rank 0 can listen on the port."""
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(("127.0.0.1", 0))
        yield holder.getsockname()[1]


def launch_variables(rank, ranks, port):
    """The environment that torchrun sets for a process on a single machine."""
    return {"RANK": str(rank), "WORLD_SIZE": str(ranks), "LOCAL_RANK": str(rank), "LOCAL_WORLD_SIZE": str(ranks),
            "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}


def own_variables(rank, ranks, port):
    """The environment that `hirgen run` sets for a rank, without the secret of the run."""
    return {"HIRGEN_RANK": str(rank), "HIRGEN_WORLD": str(ranks), "HIRGEN_LOCAL_RANK": str(rank), "HIRGEN_ADDR": "127.0.0.1",
            "HIRGEN_PORT": str(port)}
