internal import Foundation

/// The program: reads the command line, runs one command, exits with its code.
@main
enum Probe {
    static func main() async {
        let arguments = Array(CommandLine.arguments.dropFirst())
        let environment = ProcessInfo.processInfo.environment
        OwnNetwork.enter(arguments, environment: environment)
        let code = await ProbeRunner(environment: environment).run(arguments)
        exit(code.rawValue)
    }
}
