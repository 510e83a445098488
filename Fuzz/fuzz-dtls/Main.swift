internal import FuzzDriver
internal import FuzzTargets
internal import Glibc

@main
struct Main {
    static func main() { exit(FuzzDriver.run(.dtls)) }
}
