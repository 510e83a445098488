import struct
import unittest

from wire import SetUp


def extension(kind, body):
    return struct.pack("!HH", kind, len(body)) + body


def hello(*extensions):
    body = b"".join(extensions)
    return b"\xfe\xfd" + bytes(32) + b"\0" + b"\0" + b"\0\2\xc0\x2b" + b"\1\0" + struct.pack("!H", len(body)) + body


def answer(*extensions):
    body = b"".join(extensions)
    return b"\xfe\xfd" + bytes(32) + b"\0" + b"\xc0\x2b" + b"\0" + struct.pack("!H", len(body)) + body


def record(kind, message, offset=0, end=None, epoch=0):
    piece = message[offset:end]
    header = bytes([kind]) + len(message).to_bytes(3, "big") + b"\0\0" + offset.to_bytes(3, "big") + len(piece).to_bytes(3, "big")
    body = header + piece
    return b"\x16\xfe\xfd" + epoch.to_bytes(2, "big") + bytes(6) + struct.pack("!H", len(body)) + body


SRTP = extension(14, b"\0\4\0\1\0\7\0")
BOTH_VERSIONS = extension(43, b"\4\xfe\xfc\xfe\xfd")


class SetUpTests(unittest.TestCase):
    def test_a_hello_in_two_fragments_and_its_answer_are_read(self):
        setup = SetUp()
        message = hello(SRTP, BOTH_VERSIONS)
        setup.take("192.0.2.2", record(1, message, 0, 40))
        self.assertEqual(setup.facts, {})
        setup.take("192.0.2.2", record(1, message, 40))
        setup.take("192.0.2.1", record(2, answer(extension(14, b"\0\2\0\7\0"))))
        facts = setup.facts
        self.assertEqual((facts["client"], facts["hello_fragments"]), ("192.0.2.2", 2))
        self.assertEqual(facts["offered_versions"], ["1.3", "1.2"])
        self.assertEqual(facts["offered_profiles"], ["AES128_CM_SHA1_80", "AEAD_AES_128_GCM"])
        self.assertEqual((facts["version"], facts["profile"], facts["cipher"]), ("1.2", "AEAD_AES_128_GCM", "0xc02b"))

    def test_a_server_that_chooses_1_3_is_told(self):
        setup = SetUp()
        setup.take("192.0.2.1", record(2, answer(extension(43, b"\xfe\xfc"))))
        self.assertEqual((setup.facts["version"], setup.facts["profile"]), ("1.3", None))

    def test_the_username_of_each_check_that_is_answered_is_told_once(self):
        def stun(kind, transaction, attributes=b""):
            return struct.pack("!HH", kind, len(attributes)) + b"\x21\x12\xa4\x42" + bytes([transaction]) * 12 + attributes

        def check(transaction, user):
            return stun(1, transaction, struct.pack("!HH", 6, len(user)) + user)

        setup = SetUp()
        for transaction, user in enumerate((b"ours:them", b"ours:them", b"next:more", b"lost:more")):
            setup.take("192.0.2.2", check(transaction, user))
            if user != b"lost:more":
                setup.take("192.0.2.1", stun(0x101, transaction))
        setup.take("192.0.2.1", stun(0x111, 3))
        self.assertEqual(setup.facts["checks"], ["ours:them", "next:more"])

    def test_encrypted_records_and_other_datagrams_are_passed_over(self):
        setup = SetUp()
        setup.take("192.0.2.1", record(2, answer(), epoch=1))
        setup.take("192.0.2.1", b"\x80" + bytes(40))
        setup.take("192.0.2.1", b"")
        self.assertEqual(setup.facts, {})

    def test_a_hello_cut_anywhere_says_nothing_or_is_refused(self):
        message = record(1, hello(SRTP, BOTH_VERSIONS))
        for length in range(len(message)):
            setup = SetUp()
            try:
                setup.take("192.0.2.2", message[:length])
            except ValueError:
                pass
            self.assertEqual(setup.facts, {}, length)


if __name__ == "__main__":
    unittest.main()
