extension Flag {
    /// What `recover` causes, and what a call does about an outage.
    static let recovery: [Flag] = [
        Flag("--cause", "rebind|interface|udp-dead|line-dead", "which outage", commands: [.recover]) {
            (o, v) throws(ProbeError) in
            let cause: ProbeOptions.OutageCause = try word("--cause", v)
            o.cause = cause
        },
        Flag("--for", "SECONDS", "length of the outage; 0: for good; udp-dead: 4 unless given", commands: [.recover]) {
            (o, v) throws(ProbeError) in
            o.outageSeconds = try KeyedItem.number(v, name: "--for", option: "--for", in: 0...3_600)
        },
        Flag("--cut", "silence|reset", "how a line that is dead for good dies", commands: [.recover]) {
            (o, v) throws(ProbeError) in o.lineCut = try word("--cut", v)
        },
        Flag(
            "--recovery", "continue|end-call", "what a path that is lost for good means: the line, or the end",
            commands: placing
        ) {
            (o, v) throws(ProbeError) in o.recovery = try word("--recovery", v)
        },
    ]
}
