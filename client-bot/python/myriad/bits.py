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
        length = self.get(6)
        number = self.get(length)
        if length > 32 or number.bit_length() < length:
            raise Malformed("a small number takes more room than it needs")
        return number

    def rice(self, parameter: int) -> int:
        ones = next(i for i in range(25) if i == 24 or not self.get(1))
        if ones < 24:
            return ones << parameter | self.get(parameter)
        number = self.get(32)
        if number >> parameter < 24:
            raise Malformed("a Rice code takes more room than it needs")
        return number

    def bytes(self, bits: int) -> bytes:
        length = self.get(bits)
        return self.get(8 * length).to_bytes(length, "little")

    def put(self, value: int, bits: int) -> None:
        self.number |= (value & (1 << bits) - 1) << self.at
        self.at += bits

    def put_small(self, value: int) -> None:
        self.put(value.bit_length(), 6)
        self.put(value, value.bit_length())

    def put_unary(self, value: int) -> None:
        """A Rice code of parameter 0."""
        self.put((1 << min(value, 24)) - 1, 24 if value >= 24 else value + 1)
        if value >= 24:
            self.put(value, 32)

    def written(self) -> bytes:
        return self.number.to_bytes((self.at + 7) // 8, "little")

    def finish(self) -> None:
        if self.end - self.at >= 8:
            raise Malformed("bytes follow the end of the message")
