// swift-tools-version: 6.2
import PackageDescription

/// Settings every Swift target is built with: Swift 6 mode, upcoming features on, any warning an error.
var strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableExperimentalFeature("Lifetimes"),
    .treatAllWarnings(as: .error),
]

/// Fuzz executables are built only when asked for (Scripts/fuzz.sh); then every Swift target counts its edges.
let isFuzzing = Context.environment["GRAINE_FUZZ"] != nil
if isFuzzing { strict.append(.unsafeFlags(["-sanitize=fuzzer"])) }

/// The faults that `call-simulation mutants` puts in are compiled only when asked for.
if Context.environment["GRAINE_MUTANTS"] != nil { strict.append(.define("MUTANTS")) }

/// Settings of the C shims: the same bar.
let strictC: [CSetting] = [.enableWarning("all"), .enableWarning("extra"), .treatAllWarnings(as: .error)]

let package = Package(
    name: "graine-transport",
    products: [
        .library(name: "Transport", targets: ["Transport"]),
        .library(name: "ICELite", targets: ["ICELite"]),
        .library(name: "TransportTestKit", targets: ["TransportTestKit"]),
        .executable(name: "graine-transport-probe", targets: ["graine-transport-probe"]),
        .executable(name: "transport-benchmarks", targets: ["transport-benchmarks"]),
    ],
    targets: [
        // System libraries and what Glibc's module does not import.
        .target(name: "CLinux", cSettings: strictC),
        .target(
            name: "COpenSSL", cSettings: strictC, linkerSettings: [.linkedLibrary("ssl"), .linkedLibrary("crypto")]),
        .target(name: "CSRTP", cSettings: strictC, linkerSettings: [.linkedLibrary("srtp2")]),
        .target(name: "COpus", cSettings: strictC, linkerSettings: [.linkedLibrary("opus")]),

        .target(name: "ICELite", dependencies: ["COpenSSL"], swiftSettings: strict),
        // Transport is one library in four modules, cut along the arrows of ARCHITECTURE.md. An application imports
        // `Transport` alone.
        .target(
            name: "TransportRuntime", dependencies: ["ICELite", "COpenSSL", "CLinux"],
            path: "Sources/Transport/Runtime", swiftSettings: strict),
        .target(
            name: "TransportMedia", dependencies: ["TransportRuntime", "ICELite", "CSRTP", "COpus", "COpenSSL"],
            path: "Sources/Transport", exclude: ["API", "Call", "Endpoint", "Line", "Path", "Runtime"],
            sources: ["Audio", "DTLS", "RTP", "SDP", "SRTP"], swiftSettings: strict),
        .target(
            name: "TransportLine", dependencies: ["ICELite", "COpenSSL"], path: "Sources/Transport/Line",
            swiftSettings: strict),
        .target(
            name: "Transport",
            dependencies: ["TransportRuntime", "TransportMedia", "TransportLine", "ICELite", "CLinux"],
            path: "Sources/Transport", exclude: ["Audio", "DTLS", "Line", "RTP", "Runtime", "SDP", "SRTP"],
            sources: ["API", "Call", "Endpoint", "Path"], swiftSettings: strict),
        .target(
            name: "TransportTestKit",
            dependencies: ["Transport", "TransportRuntime", "TransportMedia", "TransportLine", "ICELite", "CLinux"],
            swiftSettings: strict),
        .executableTarget(
            name: "graine-transport-probe",
            dependencies: [
                "Transport", "TransportRuntime", "TransportMedia", "TransportLine", "ICELite", "TransportTestKit",
            ],
            resources: [.copy("Resources/speech.wav")],
            swiftSettings: strict),
        // Counts the benchmarks' allocations; in no other product.
        .target(name: "CAllocationCounter", path: "Benchmarks/CAllocationCounter", cSettings: strictC),
        // OpenSSL's handshakes alone, to measure ours by; in no product either.
        .target(
            name: "CBareHandshake", path: "Benchmarks/CBareHandshake", cSettings: strictC,
            linkerSettings: [.linkedLibrary("ssl"), .linkedLibrary("crypto")]),
        .executableTarget(
            name: "transport-benchmarks",
            dependencies: [
                "Transport", "TransportRuntime", "TransportMedia", "TransportLine", "ICELite", "TransportTestKit",
                "CSRTP",
                "COpenSSL", "CAllocationCounter", "CBareHandshake",
            ],
            path: "Benchmarks/transport-benchmarks", swiftSettings: strict),

        // The echo benchmark's two relays, a process each: the endpoint's own parts, and the same in C.
        .executableTarget(
            name: "echo-relay", dependencies: ["Transport", "TransportRuntime", "TransportMedia", "ICELite"],
            path: "Benchmarks/echo-relay", swiftSettings: strict),
        .executableTarget(
            name: "echo-relay-c", path: "Benchmarks/echo-relay-c", cSettings: strictC,
            linkerSettings: [.linkedLibrary("srtp2")]),

        // What the fuzz executables run; the tests replay their corpus through it. In no product.
        .target(
            name: "FuzzTargets", dependencies: ["Transport", "TransportRuntime", "TransportMedia", "ICELite"],
            path: "Fuzz/Targets", swiftSettings: strict),

        // Whole calls on a virtual clock: the world, its judge and the command that runs them. In no product.
        .target(
            name: "CSeededRandom", path: "Tests/Simulation/CSeededRandom", cSettings: strictC,
            linkerSettings: [.linkedLibrary("crypto")]),
        .target(
            name: "CSRTPCipher", path: "Tests/Simulation/CSRTPCipher", cSettings: strictC,
            linkerSettings: [.linkedLibrary("crypto"), .linkedLibrary("srtp2")]),
        .target(
            name: "CallSimulation",
            dependencies: [
                "Transport", "TransportRuntime", "TransportMedia", "TransportLine", "ICELite", "TransportTestKit",
                "CSeededRandom", "CSRTPCipher",
            ],
            path: "Tests/Simulation/CallSimulation", swiftSettings: strict),
        .executableTarget(
            name: "call-simulation", dependencies: ["CallSimulation", "Transport", "ICELite"],
            path: "Tests/Simulation/call-simulation", swiftSettings: strict),
        .testTarget(
            name: "SimulationTests",
            dependencies: [
                "CallSimulation", "call-simulation", "Transport", "TransportMedia", "ICELite", "TransportTestKit",
            ],
            path: "Tests/Simulation/Tests", swiftSettings: strict),

        .testTarget(
            name: "ICELiteTests", dependencies: ["ICELite", "FuzzTargets"], resources: [.copy("Vectors")],
            swiftSettings: strict),
        // Sees of ICELite what another package sees.
        .testTarget(
            name: "ICELiteUserTests", dependencies: ["ICELite"], packageAccess: false, swiftSettings: strict),
        .testTarget(
            name: "TransportTests",
            dependencies: [
                "Transport", "TransportRuntime", "TransportMedia", "TransportLine", "ICELite", "TransportTestKit",
                "COpenSSL",
                "CSRTP",
            ],
            resources: [.copy("Vectors")], swiftSettings: strict),
        .testTarget(
            name: "RecoveryTests",
            dependencies: [
                "Transport", "TransportRuntime", "TransportMedia", "TransportLine", "ICELite", "TransportTestKit",
            ],
            resources: [.copy("Vectors")], swiftSettings: strict),
        .testTarget(
            name: "RecorderTests",
            dependencies: [
                "Transport", "TransportRuntime", "TransportMedia", "TransportLine", "ICELite", "TransportTestKit",
            ],
            swiftSettings: strict),
        .testTarget(
            name: "TransportTestKitTests",
            dependencies: ["TransportTestKit", "Transport", "TransportRuntime", "ICELite"],
            swiftSettings: strict),
        .testTarget(
            name: "ProbeTests",
            dependencies: ["graine-transport-probe", "TransportTestKit", "Transport", "TransportRuntime", "ICELite"],
            swiftSettings: strict),
    ],
    cLanguageStandard: .gnu11
)

if isFuzzing {
    package.targets += [
        .target(name: "CLibFuzzer", path: "Fuzz/CLibFuzzer", cSettings: strictC),
        .target(
            name: "FuzzDriver", dependencies: ["CLibFuzzer", "FuzzTargets"], path: "Fuzz/Driver",
            swiftSettings: strict),
    ]
    for name in [
        "fuzz-stun", "fuzz-full-agent", "fuzz-lite-agent", "fuzz-sdp", "fuzz-rtp", "fuzz-rtcp", "fuzz-demux",
        "fuzz-dtls",
    ] {
        package.targets.append(
            .executableTarget(
                name: name, dependencies: ["FuzzDriver", "FuzzTargets"], path: "Fuzz/\(name)", swiftSettings: strict))
    }
}
