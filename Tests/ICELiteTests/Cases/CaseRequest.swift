import Testing

@testable import ICELite

extension Request {
    /// The request with more attributes, of any type: `extra` in front of the integrity, `behindIntegrity` after it.
    func bytes(
        with extra: [(type: UInt16, value: [UInt8])] = [],
        behindIntegrity: [(type: UInt16, value: [UInt8])] = []
    ) throws -> [UInt8] {
        try written { (out) throws(STUNError) in
            let writer = try STUNWriter(.request, transactionID: STUNTransactionID(high: id, low: 7), into: &out)
            if let username { try writer.append(.username, Array(username.utf8), into: &out) }
            if let priority { try writer.append(.priority, priority, into: &out) }
            try writer.append(controlled ? .iceControlled : .iceControlling, UInt64(5), into: &out)
            if useCandidate { try writer.append(flag: .useCandidate, into: &out) }
            for attribute in extra { try append(attribute, with: writer, into: &out) }
            try writer.append(integrity, key: STUNKey(password: password), into: &out)
            for attribute in behindIntegrity { try append(attribute, with: writer, into: &out) }
            try writer.appendFingerprint(into: &out)
        }
    }

    private func append(
        _ attribute: (type: UInt16, value: [UInt8]), with writer: STUNWriter, into out: inout OutputRawSpan
    ) throws(STUNError) {
        let offset = out.byteCount
        try writer.append(.software, attribute.value, into: &out)
        var bytes = out.mutableBytes
        bytes.storeBytes(of: attribute.type.bigEndian, toByteOffset: offset, as: UInt16.self)
    }
}
