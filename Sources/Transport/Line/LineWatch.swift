/// How closely a line's silence is watched.
package enum LineWatch: Sendable, Hashable {
    /// A ping after 5 s of silence, dead after 10.
    case calm
    /// The call is being set up: a ping each second, dead after 10 s of silence. Lost segments are not death: TCP may take
    /// seconds to repeat one again and again.
    case setUp
    /// The line may be dead: a ping each second, dead after 3 s of silence.
    case suspect
}
