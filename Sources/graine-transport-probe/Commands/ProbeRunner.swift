internal import Foundation
internal import ICELite

/// Runs one command line to its exit code.
struct ProbeRunner: Sendable {
    let environment: [String: String]
    var placer: any CallPlacing = LiveCalls.placer
    var server: any EchoServing = LiveCalls.server
    var output: @Sendable (String) -> Void = Console.write
    var errorOutput: @Sendable (String) -> Void = Console.writeError

    /// - Parameter arguments: Without the program's name.
    func run(_ arguments: [String]) async -> ExitCode {
        do throws(ProbeError) {
            return try await perform(ArgumentParser(environment: environment).parse(arguments))
        } catch {
            if error != .interrupted { errorOutput("error: \(error.message)\n") }
            return error.exitCode
        }
    }

    private func perform(_ options: ProbeOptions) async throws(ProbeError) -> ExitCode {
        switch options.information {
        case .help:
            output(HelpText.help + "\n")
            return .good
        case .version:
            output("\(HelpText.programName) \(HelpText.version)\n")
            return .good
        case nil: break
        }
        switch options.command {
        case .explain: output(try ReasonCatalogue.explain(options.target) + "\n")
        case .schema: output(ReportSchema.json.text(indented: true) + "\n")
        case .serve: return try await serve(options)
        case .check, .call, .connect, .recover: return try await placeCalls(options)
        case .quality, .nat, .path, .conform:
            throw .usage("\(options.command.rawValue) is not in this build yet")
        }
        return .good
    }

    // MARK: Calls

    private func placeCalls(_ options: ProbeOptions) async throws(ProbeError) -> ExitCode {
        // From here on a signal hangs up and reports.
        let interrupts = Interrupts()
        let began = ContinuousClock.now
        let startedAt = Date().formatted(.iso8601)
        let isSelfTest = options.command == .check && options.target == nil
        let redactor = Redactor(options.redaction, hosts: [options.target.flatMap(CallTarget.host)].compactMap { $0 })
        // Everything of this machine that the command needs is looked at before the first packet.
        let proxyNote = try ProxyChoice(options, environment: environment).note
        for path in outputPaths(options) { try OutputFile.preflight(path: path) }
        let key = try KeyReader.read(options.key, environment: environment)
        if let file = options.caFile { try CertificateFiles.checkAuthority(file) }
        // A given recording is read before anything is said: if it is broken, its error is the only line.
        let given: [Int16]? =
            if let path = options.audio { try WAVFile.read(path: path).callSamples } else { nil }
        let progress = Progress(style: progressStyle(options), sink: errorOutput)
        let times = options.repeatCount > 1 ? " \(options.repeatCount) times" : ""
        let what = isSelfTest ? "self-test" : "calling \(options.target ?? "an endpoint in this process")" + times
        progress.note(redactor.text(what))
        if let proxyNote { progress.note(proxyNote) }
        let audio = if let given { given } else { try Self.audio(options) }
        let plans = plans(options, audio: audio, key: key, isSelfTest: isSelfTest)
        let events: EventLog? =
            if let ndjson = options.ndjson {
                try EventLog(ndjson, standardOutput: output, redactor: redactor, began: began)
            } else { nil }
        events?.begin(options, startedAt: startedAt)
        let order = options.command == .connect ? CallRun.Order.inTurn : .sideBySide
        let run = CallRun(placer: placer, timeout: options.timeout, interrupts: interrupts.stream, order: order)
        let outcome = await run.run(plans, progress: progress, events: events)
        progress.finish()

        let elapsed = ContinuousClock.now - began
        let report = ReportBuilder(options: options, isSelfTest: isSelfTest).report(
            outcome, startedAt: startedAt, elapsed: elapsed)
        // A call that never was: its error comes first, one line on stderr.
        if !isSelfTest, report.abort == nil,
            let failure = outcome.results.lazy.filter({ !$0.wasActive }).compactMap(\.failure).first
        {
            errorOutput("error: \(redactor.text(failure.message))\n")
        }
        try write(report, options, redactor)
        try events?.end(report)
        return ExitCode.of(report, failOnWarn: options.failOnWarn)
    }

    private static func audio(_ options: ProbeOptions) throws(ProbeError) -> [Int16] {
        if options.command == .connect { return [] }
        guard let outage = OutagePlan(options) else { return try SpeechSample.load() }
        return SteadyVoice.samples(seconds: options.duration ?? outage.callDuration)
    }

    private func plans(_ options: ProbeOptions, audio: [Int16], key: String?, isSelfTest: Bool) -> [CallPlan] {
        let length = Double(audio.count) / Double(RecordingResampler.callSampleRate)
        // The echo needs its 300 ms and the way back after the last word.
        let tail = options.command == .recover ? 0 : 1.0
        let plan = CallPlan(
            name: "call", target: options.target, preference: options.preference, impairment: options.impairment,
            seed: options.seed ?? UInt64.random(in: .min ... .max), audio: audio,
            duration: options.duration ?? (isSelfTest ? SelfTest.defaultDuration : length + tail), key: key,
            caFile: options.caFile, insecure: options.insecure, family: options.family,
            bind: options.bind.first.flatMap { IPAddress($0) }, stun: options.stun, without: options.without,
            keepsRecording: options.record != nil, outage: OutagePlan(options), recovery: options.recovery)
        if options.command == .connect {
            return (1...options.repeatCount).map { number in
                var plan = plan
                if options.repeatCount > 1 { plan.name = "call-\(number)" }
                plan.duration = options.duration ?? 0
                plan.speaks = false
                // Each call meets a network of its own.
                plan.seed &+= UInt64(number - 1)
                return plan
            }
        }
        guard isSelfTest else { return [plan] }
        return SelfTest.cases.map { testCase in
            var plan = plan
            plan.name = testCase.name
            plan.preference = testCase.preference
            if testCase.udp != .pass { plan.impairment.udp = testCase.udp }
            return plan
        }
    }

    private func write(_ report: Report, _ options: ProbeOptions, _ redactor: Redactor) throws(ProbeError) {
        if let samples = report.calls.first?.recording, let path = options.record, report.calls.first?.wasActive == true
        {
            try WAVWriter.write(samples, sampleRate: RecordingResampler.callSampleRate, path: path)
        }
        var textIsWanted = options.verbosity != .quiet
        if let json = options.json {
            let text = redactor.json(report.json).text(indented: true) + "\n"
            switch json {
            case .standardOutput:
                output(text)
                textIsWanted = false
            case .file(let path): try OutputFile.write(Array(text.utf8), path: path)
            }
        }
        if options.ndjson == .standardOutput { textIsWanted = false }
        if textIsWanted {
            let useColor = options.color && Console.outputIsTerminal
            output(
                redactor.text(
                    HumanReport(report: report, useColor: useColor, verbose: options.verbosity == .verbose).text))
        }
    }

    private func outputPaths(_ options: ProbeOptions) -> [String] {
        var paths = [options.record].compactMap { $0 }
        for case .file(let path)? in [options.json, options.ndjson] { paths.append(path) }
        return paths
    }

    private func progressStyle(_ options: ProbeOptions) -> Progress.Style {
        if options.verbosity == .quiet { return .silent }
        return Console.errorIsTerminal && options.verbosity != .verbose ? .redrawn : .plain
    }

    // MARK: Serve

    private func serve(_ options: ProbeOptions) async throws(ProbeError) -> ExitCode {
        let interrupts = Interrupts()
        let key = try KeyReader.read(options.key, environment: environment)
        if let certificate = options.certificateFile, let privateKey = options.privateKeyFile {
            try CertificateFiles.checkIdentity(certificate: certificate, key: privateKey)
        }
        let log = ServeLog(verbosity: options.verbosity, redactor: Redactor(.none, hosts: []), sink: errorOutput)
        let server = server
        let output = output
        let failure = await withTaskGroup(of: ProbeError?.self) { group in
            group.addTask {
                do throws(ProbeError) {
                    try await server.serve(options, key: key, log: log) { output($0 + "\n") }
                    return nil
                } catch { return error }
            }
            group.addTask {
                for await _ in interrupts.stream { break }
                return nil
            }
            let first = await group.next() ?? nil
            group.cancelAll()
            return first
        }
        // Ctrl-C is how a server is meant to end.
        if let failure { throw failure }
        return .good
    }
}
