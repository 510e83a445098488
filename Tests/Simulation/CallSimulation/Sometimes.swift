/// Situations that must each come up in ten thousand calls; else the generator has gone blind.
package enum Sometimes: UInt8, Hashable, Sendable, CaseIterable {
    // The choice.
    case lateSuccessAfterSelect
    case choiceAtTheBudgetsEnd
    case welcomeInItsLast100Milliseconds
    case welcomeNeverCame
    case epochTwo
    case lineAudioBeforeTheChoice
    case packetThenDeadlineAtOneInstant
    case deadlineThenPacketAtOneInstant
    case uplinkGivenUpAfterSelect
    case serverRequestedBeforeActive
    case serverRequestedWhileActive
    case pathOverIPv6
    case pathOverTheSecondNetwork

    // Outages.
    case bridgeAskedByBoth
    case bridgeAskedByBothWithinARoundTrip
    case bridgeAskedByTheClientAlone
    case bridgeAskedByTheServerAlone
    case falseAlarm
    case twoOutages
    case secondOutageWithinFiveSeconds
    case recoveredInItsLast100Milliseconds
    case recovered
    case continuedOnTheLine
    case endedByAnOutage
    case outageByDrop
    case outageByReject
    case outageByHold
    case outageByRebinding
    case outageByAnAddressThatGoes
    case outageBySuspension
    case outageOfOneDirection
    case outageOfBothCarriages
    case outageWhileTheLineIsGone
    case restartSentWhileBridged
    case natMovesWithBothCarriagesOn
    case messagesWhileRecovering
    case mutedWhileRecovering
    case forgedWhileRecovering

    // The line.
    case lineCutWhileOnThePath
    case lineCutWhileRecovering
    case lineCutOnTheWebSocket
    case lineCutWhileConnecting

    // Ends.
    case hangUpWhileOpening
    case hangUpWhileWelcoming
    case hangUpWhileNegotiating
    case hangUpBetweenSelectAndSelected
    case hangUpOnThePath
    case hangUpOnTheLine
    case hangUpWhileBridged
    case hangUpWhileRecovering
    case serverHangsUpWhileActive
    case serverHangsUpWhileRecovering
    case bothHangUp
    case endpointGoesAwayWhileConnecting
    case endpointGoesAwayWhileActive
    case oneEndAloneFails

    /// Its name in the list: words for the camel's humps.
    package var title: String {
        var words = ""
        for character in String(describing: self) {
            if character.isUppercase, words.last?.isUppercase != true { words.append(" ") }
            words.append(character)
        }
        return words.lowercased()
    }
}

/// A set of situations.
package struct SometimesSet: Hashable, Sendable {
    package private(set) var bits: UInt64 = 0

    package init() {}

    package func contains(_ situation: Sometimes) -> Bool { bits & 1 << UInt64(situation.rawValue) != 0 }

    package mutating func insert(_ situation: Sometimes) { bits |= 1 << UInt64(situation.rawValue) }
}
