/// The username fragment and password of one end of an ICE session (RFC 8839 §5.4).
public struct ICECredentials: Hashable, Sendable {
    /// 4…256 ice-chars.
    public let ufrag: String
    /// 22…256 ice-chars. A secret: never logged.
    public let password: String

    /// Characters of a ufrag of ours: 48 bits.
    static let randomUfragLength = 8
    /// Characters of a password of ours: 144 bits (RFC 8445 §5.3 wants 128).
    static let randomPasswordLength = 24
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    /// Takes what was signalled; nil unless both are ice-chars (ALPHA, DIGIT, "+", "/") of the lengths RFC 8839 allows.
    public init?(ufrag: String, password: String) {
        guard Self.isICEText(ufrag, length: 4...256), Self.isICEText(password, length: 22...256) else { return nil }
        self.init(unchecked: ufrag, password)
    }

    private init(unchecked ufrag: String, _ password: String) {
        self.ufrag = ufrag
        self.password = password
    }

    /// New credentials: a ufrag of 8 and a password of 24 random ice-chars.
    public static func random(using randomness: inout Randomness) -> ICECredentials {
        ICECredentials(
            unchecked: text(randomUfragLength, using: &randomness), text(randomPasswordLength, using: &randomness))
    }

    private static func text(_ length: Int, using randomness: inout Randomness) -> String {
        // 64 characters: the low 6 bits of a byte choose without bias.
        String(decoding: randomness.bytes(length).map { alphabet[Int($0 & 63)] }, as: UTF8.self)
    }

    private static func isICEText(_ text: String, length: ClosedRange<Int>) -> Bool {
        length.contains(text.utf8.count) && text.utf8.allSatisfy(isICECharacter)
    }

    /// RFC 8839 §5.1: ALPHA / DIGIT / "+" / "/".
    static func isICECharacter(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2B, 0x2F: true
        default: false
        }
    }
}
