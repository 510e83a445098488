import Testing

@testable import TransportMedia

@Suite("Certificate fingerprints") struct CertificateFingerprintTests {
    @Test("What is written is read again, in any case", arguments: CertificateFingerprint.Hash.allCases)
    func roundTrip(hash: CertificateFingerprint.Hash) throws {
        let certificate = try #require(DTLSCertificate.shared)
        let fingerprint = try #require(certificate.fingerprint(by: hash))
        #expect(fingerprint.bytes.count == hash.length)
        #expect(try CertificateFingerprint(parsing: fingerprint.attribute) == fingerprint)
        #expect(try CertificateFingerprint(parsing: fingerprint.attribute.uppercased()) == fingerprint)
        #expect(try CertificateFingerprint(parsing: fingerprint.attribute.lowercased()) == fingerprint)
        for length in 0..<fingerprint.attribute.count {
            let cut = String(fingerprint.attribute.prefix(length))
            #expect(throws: CertificateFingerprint.ParseError.self) { try CertificateFingerprint(parsing: cut) }
        }
    }

    @Test("Weak and unknown hashes are refused", arguments: ["sha-1 AA:BB", "MD5 AA:BB", "sha-3 AA"])
    func weak(text: String) {
        #expect(throws: CertificateFingerprint.ParseError.unsupportedHash) { try CertificateFingerprint(parsing: text) }
    }
}
