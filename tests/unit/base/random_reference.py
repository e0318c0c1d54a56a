"""Prints the first numbers of the generator in core/base/random.c, computed from the definitions of
splitmix64 and xoshiro256++."""
M = (1 << 64) - 1


def splitmix64(state):
    state = (state + 0x9E3779B97F4A7C15) & M
    z = state
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & M
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & M
    return state, z ^ (z >> 31)


def rotl(x, k):
    return ((x << k) | (x >> (64 - k))) & M


def numbers(seed, stream, count):
    _, state = splitmix64(seed)
    state ^= (stream * 0xD1342543DE82EF95) & M
    s = []
    for _ in range(4):
        state, z = splitmix64(state)
        s.append(z)
    for _ in range(count):
        yield (rotl((s[0] + s[3]) & M, 23) + s[0]) & M
        t = (s[1] << 17) & M
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= t
        s[3] = rotl(s[3], 45)


if __name__ == "__main__":
    print(",\n                                         ".join(f"0x{x:016x}u" for x in numbers(42, 7, 4)))
