/// Finds what somebody may have meant.
enum Spelling {
    /// Longest word that is compared; a longer one has no suggestion.
    static let lengthLimit = 64

    /// The candidate with the smallest edit distance, if that is at most a third of the word's length (and at least 2).
    static func nearest(to word: String, among candidates: [String]) -> String? {
        guard word.count <= lengthLimit else { return nil }
        let limit = max(2, word.count / 3)
        var best: (candidate: String, distance: Int)?
        for candidate in candidates {
            let distance = editDistance(word, candidate)
            if distance <= limit, distance < best?.distance ?? .max { best = (candidate, distance) }
        }
        return best?.candidate
    }

    /// Levenshtein distance in characters.
    static func editDistance(_ left: String, _ right: String) -> Int {
        let left = Array(left)
        let right = Array(right)
        var row = Array(0...right.count)
        for (i, a) in left.enumerated() {
            var diagonal = row[0]
            row[0] = i + 1
            for (j, b) in right.enumerated() {
                let above = row[j + 1]
                row[j + 1] = min(above + 1, row[j] + 1, diagonal + (a == b ? 0 : 1))
                diagonal = above
            }
        }
        return row[right.count]
    }
}
