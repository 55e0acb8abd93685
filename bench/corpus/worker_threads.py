"""Threads, a lock, an event and a queue; all threads have ended, their tools are still there."""

# %%
import queue
import threading

lock, done = threading.Lock(), threading.Event()
jobs, results = queue.Queue(), {}


# %%
def work(name):
    while True:
        try:
            number = jobs.get_nowait()
        except queue.Empty:
            return
        value = sum(n for n in range(1, number) if number % n == 0)
        with lock:
            results[number] = value


# %%
for number in range(2, 700):
    jobs.put(number)
threads = [threading.Thread(target=work, args=(name,)) for name in "abc"]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
done.set()
len(results)

# %%
results = dict(sorted(results.items()))
perfect = [number for number, value in results.items() if number == value]
perfect, lock.locked(), done.is_set()
