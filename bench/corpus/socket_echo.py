"""Two ends of a socket in one notebook: messages with lengths, sent and read."""

# %%
import socket
import struct

left, right = socket.socketpair()


# %%
def send(end, message):
    data = message.encode()
    end.sendall(struct.pack("!I", len(data)) + data)


def receive(end):
    (size,) = struct.unpack("!I", end.recv(4))
    return end.recv(size).decode()


# %%
inbox = []
for word in ("tree", "trunk", "root"):
    send(left, word)
    inbox.append(receive(right))
inbox

# %%
statistics = {word: len(word) for word in inbox}
frame = struct.pack("!Id", 7, 2.5)
struct.unpack("!Id", frame)

# %%
send(right, "done")
answer = receive(left)
answer
