enum LiteAgentFuzz { static func run(_ bytes: [UInt8]) throws(FuzzFinding) {} }
