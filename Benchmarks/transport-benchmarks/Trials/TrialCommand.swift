internal import TransportTestKit

/// The samples of one case, as a row of a table and as JSON.
protocol TrialCell: Sendable {
    /// The table's head.
    static var header: String { get }
    /// The row.
    var line: String { get }
    /// The object.
    var json: String { get }
}

/// What the commands of trials have in common: arguments, site, table, JSON, exit code.
struct TrialCommand<Case: RawRepresentable & CaseIterable & Sendable, Cell: TrialCell> where Case.RawValue == String {
    /// Its word, which is its schema's, too.
    let name: String
    /// Calls of each case unless told.
    let virtualCalls: Int
    let socketCalls: Int

    /// Its arguments.
    var usage: String { TrialOptions.usage(name, virtualCalls: virtualCalls, socketCalls: socketCalls) }

    /// Runs every case that is wanted and returns the exit code: 0 when `isSound` says so of each.
    ///
    /// - Parameter cell: makes the calls of one case; the site is there for calls on sockets.
    func run(
        _ arguments: [String], cell: (Case, TrialOptions, TrialSite?) async -> Cell,
        isSound: (Cell, _ calls: Int) -> Bool
    ) async -> Int32 {
        let options: TrialOptions
        do throws(Options.Failure) {
            options = try TrialOptions(arguments, command: name, virtualCalls: virtualCalls, socketCalls: socketCalls)
        } catch {
            say("error: \(error.text)\n\(usage)", toErrors: true)
            return 64
        }
        let isQuiet = options.json == "-"
        if Report.configuration == "debug" { say("warning: a debug build; build with -c release", toErrors: true) }
        let site: TrialSite?
        do {
            site = options.kind == .sockets ? try TrialSite() : nil
        } catch {
            say("error: \(error)", toErrors: true)
            return 71
        }
        defer { site?.close() }
        say(Cell.header, toErrors: isQuiet)
        var cells: [Cell] = []
        for trialCase in Case.allCases where options.wants(trialCase.rawValue) {
            let made = await cell(trialCase, options, site)
            cells.append(made)
            say(made.line, toErrors: isQuiet)
        }
        let json = """
            {
              "schema": "graine.benchmarks.\(name)/1", "configuration": "\(Report.configuration)",
              "kind": "\(options.kind.rawValue)", "cells": [
            \(cells.map(\.json).joined(separator: ",\n"))
              ]
            }

            """
        if let path = options.json, !write(json, to: path) {
            say("error: cannot write \(path)", toErrors: true)
            return 71
        }
        return cells.allSatisfy { isSound($0, options.calls) } ? 0 : 1
    }
}
