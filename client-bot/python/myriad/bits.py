"""Bit fields, and the numbers in them."""


class Malformed(Exception):
    """Bytes that the protocol does not allow."""


def zigzag(number: int) -> int:
    return -2 * number - 1 if number < 0 else 2 * number


def unzigzag(number: int) -> int:
    return -(number + 1) // 2 if number & 1 else number // 2


def near(low: int, newest: int) -> int:
    """The number nearest to `newest` with these lowest 16 bits."""
    number = newest + (low - newest) % 65536
    return number - 65536 if number - newest >= 32768 and number >= 65536 else number


class Bits:
    """Reads bit fields, and writes them."""

    def __init__(self, data: bytes = b"") -> None:
        self.number, self.end, self.at = int.from_bytes(data, "little"), 8 * len(data), 0

    def get(self, bits: int) -> int:
        self.at += bits
        if self.at > self.end:
            raise Malformed("the message ends before its content does")
        return self.number >> self.at - bits & (1 << bits) - 1

    def small(self) -> int:
        return self.get(self.get(6))

    def rice(self, parameter: int) -> int:
        ones = next(i for i in range(25) if i == 24 or not self.get(1))
        return self.get(32) if ones == 24 else ones << parameter | self.get(parameter)

    def bytes(self, bits: int) -> bytes:
        return bytes([self.get(8) for _ in range(self.get(bits))])

    def put(self, value: int, bits: int) -> None:
        self.number |= (value & (1 << bits) - 1) << self.at
        self.at += bits

    def put_small(self, value: int) -> None:
        self.put(value.bit_length(), 6)
        self.put(value, value.bit_length())

    def put_rice(self, value: int, parameter: int) -> None:
        ones = value >> parameter
        if ones < 24:
            self.put((1 << ones) - 1, ones + 1)
            self.put(value, parameter)
        else:
            self.put((1 << 24) - 1, 24)
            self.put(value, 32)

    def written(self) -> bytes:
        return self.number.to_bytes((self.at + 7) // 8, "little")

    def finish(self) -> None:
        if self.end - self.at >= 8:
            raise Malformed("bytes follow the end of the message")
