"""Sound as numbers: synthesis, spectra, filters, a melody read back."""

# %%
import io
import wave

import matplotlib.pyplot as plt
import numpy as np

rate = 22_050
rng = np.random.default_rng(44)


# %%
def tone(frequency, seconds, overtones=6):
    t = np.arange(int(rate * seconds)) / rate
    sound = sum(np.sin(2 * np.pi * frequency * k * t) / k**1.5 for k in range(1, overtones + 1))
    attack = np.minimum(1, t / 0.02) * np.exp(-3 * t / seconds)
    return sound * attack


scale = {name: 440 * 2 ** ((step - 9) / 12) for step, name in enumerate("C C# D D# E F F# G G# A A# B".split())}
melody = "C D E F G G A A A A G A A A A G F F F F E E D D D D C".split() * 3
durations = rng.choice([0.25, 0.5], len(melody))
music = np.concatenate([tone(scale[note], seconds) for note, seconds in zip(melody, durations, strict=True)])
len(music) / rate

# %%
noisy = music + 0.3 * rng.normal(size=len(music)) + 0.5 * np.sin(2 * np.pi * 50 * np.arange(len(music)) / rate)
plt.plot(noisy[:4000], lw=0.5)
plt.plot(music[:4000], lw=0.5)

# %%
spectrum = np.abs(np.fft.rfft(noisy))
frequencies = np.fft.rfftfreq(len(noisy), 1 / rate)
plt.semilogy(frequencies[::20], spectrum[::20], lw=0.4)
float(frequencies[spectrum.argmax()])


# %%
def spectrogram(sound, window=2048, hop=256):
    frames = np.lib.stride_tricks.sliding_window_view(sound, window)[::hop] * np.hanning(window)
    return np.abs(np.fft.rfft(frames, axis=1)).T


picture = spectrogram(noisy)
plt.figure(figsize=(11, 4))
plt.imshow(np.log1p(picture[:200]), aspect="auto", origin="lower")


# %%
def band_pass(low, high, taps=401):
    """A windowed sinc."""
    n = np.arange(taps) - taps // 2
    kernel = 2 * high / rate * np.sinc(2 * high / rate * n) - 2 * low / rate * np.sinc(2 * low / rate * n)
    return kernel * np.blackman(taps)


kernel = band_pass(120, 4000)
filtered = np.convolve(noisy, kernel, mode="same")


def ratio(sound):
    scaled = sound * (sound @ music) / (sound @ sound)
    return float(10 * np.log10((music @ music) / ((music - scaled) @ (music - scaled))))


ratio(noisy), ratio(filtered)

# %%
response = np.abs(np.fft.rfft(kernel, 8192))
plt.semilogy(np.fft.rfftfreq(8192, 1 / rate), response)


# %%
def notch(sound, frequency, quality=30):
    """A second-order filter, sample by sample."""
    w = 2 * np.pi * frequency / rate
    alpha = np.sin(w) / (2 * quality)
    b = np.array([1, -2 * np.cos(w), 1]) / (1 + alpha)
    a = np.array([-2 * np.cos(w), 1 - alpha]) / (1 + alpha)
    x1 = x2 = y1 = y2 = 0.0
    result = []
    for x in sound.tolist():
        y = b[0] * x + b[1] * x1 + b[2] * x2 - a[0] * y1 - a[1] * y2
        x2, x1, y2, y1 = x1, x, y1, y
        result.append(y)
    return np.array(result)


without_hum = notch(noisy, 50)
ratio(without_hum)


# %%
def spectral_gate(sound, window=1024, strength=2.5):
    hop = window // 4
    shape = np.hanning(window)
    starts = range(0, len(sound) - window, hop)
    frames = np.array([np.fft.rfft(sound[at : at + window] * shape) for at in starts])
    floor = np.median(np.abs(frames), axis=0) * strength
    gain = np.clip(1 - floor / (np.abs(frames) + 1e-9), 0.05, 1)
    result, weight = np.zeros(len(sound)), np.zeros(len(sound))
    for at, frame in zip(starts, frames * gain, strict=True):
        result[at : at + window] += np.fft.irfft(frame) * shape
        weight[at : at + window] += shape**2
    return result / np.maximum(weight, 1e-3)


gated = {strength: ratio(spectral_gate(filtered, strength=strength)) for strength in (0.5, 1, 1.5, 2, 3, 4)}
gated


# %%
def pitch(frame):
    """By autocorrelation."""
    centred = frame - frame.mean()
    power = np.fft.rfft(centred, 2 * len(centred))
    correlation = np.fft.irfft(power * power.conj())[: len(centred)]
    low, high = rate // 600, rate // 200
    return rate / (low + int(correlation[low:high].argmax()))


starts = np.concatenate([[0], np.cumsum((durations * rate).astype(int))[:-1]])
names, values = list(scale), np.array(list(scale.values()))
heard = [names[int(np.abs(np.log(values / pitch(filtered[at : at + 4096]))).argmin())] for at in starts]
sum(a == b for a, b in zip(heard, melody, strict=True)) / len(melody)

# %%
track = [pitch(filtered[at : at + 2048]) for at in range(0, len(filtered) - 2048, 128)]
plt.plot(track, ",")

# %%
buffer = io.BytesIO()
with wave.open(buffer, "wb") as file:
    file.setnchannels(1)
    file.setsampwidth(2)
    file.setframerate(rate)
    file.writeframes((filtered / np.abs(filtered).max() * 32_000).astype("<i2").tobytes())
buffer.seek(0)
with wave.open(buffer) as file:
    again = np.frombuffer(file.readframes(file.getnframes()), "<i2") / 32_000
float(np.abs(again - filtered / np.abs(filtered).max()).max())

# %%
echo = music.copy()
for delay, share in ((0.18, 0.5), (0.31, 0.35), (0.47, 0.2)):
    shift = int(delay * rate)
    echo[shift:] += share * music[:-shift]
cepstrum = np.fft.irfft(np.log(np.abs(np.fft.rfft(echo)) + 1e-3))
peaks = np.argsort(-np.abs(cepstrum[2000:12_000]))[:6] + 2000
sorted((peaks / rate).round(3).tolist())
