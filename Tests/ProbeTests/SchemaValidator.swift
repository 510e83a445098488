@testable import graine_transport_probe

/// Checks a document against the part of JSON Schema that the report's schema uses. Stricter than the standard in one
/// thing: a key that the schema does not name is an error where it names any.
struct SchemaValidator {
    let schema: JSONValue

    func problems(_ document: JSONValue) -> [String] { check(document, schema, "$") }

    private func check(_ value: JSONValue, _ rule: JSONValue, _ path: String) -> [String] {
        if case .string(let reference)? = rule["$ref"] {
            let name = String(reference.dropFirst("#/$defs/".count))
            guard let target = schema["$defs"]?[name] else { return ["\(path): no definition \(name)"] }
            return check(value, target, path)
        }
        var problems: [String] = []
        if case .array(let options)? = rule["anyOf"] {
            let results = options.map { check(value, $0, path) }
            if !results.contains(where: \.isEmpty) { problems += results.first ?? [] }
        }
        if let constant = rule["const"], constant != value { problems.append("\(path): not \(constant)") }
        if case .array(let words)? = rule["enum"], !words.contains(value) { problems.append("\(path): \(value)") }
        if let type = rule["type"] {
            let names: [JSONValue] = if case .array(let list) = type { list } else { [type] }
            if !names.contains(where: { matches(value, $0) }) { problems.append("\(path): \(value) is not \(names)") }
        }
        if case .integer(let least)? = rule["minimum"], let number = number(value), number < Double(least) {
            problems.append("\(path): \(number) < \(least)")
        }
        if case .array(let items) = value, let rule = rule["items"] {
            for (index, item) in items.enumerated() { problems += check(item, rule, "\(path)[\(index)]") }
        }
        if case .object(let members) = value {
            problems += checkObject(members, rule, path)
        }
        return problems
    }

    private func checkObject(_ members: [JSONValue.Member], _ rule: JSONValue, _ path: String) -> [String] {
        var problems: [String] = []
        if Set(members.map(\.key)).count != members.count { problems.append("\(path): a key twice") }
        if case .array(let required)? = rule["required"] {
            for case .string(let key) in required where !members.contains(where: { $0.key == key }) {
                problems.append("\(path).\(key): missing")
            }
        }
        for member in members {
            if let property = rule["properties"]?[member.key] {
                problems += check(member.value, property, "\(path).\(member.key)")
            } else if let additional = rule["additionalProperties"] {
                problems += check(member.value, additional, "\(path).\(member.key)")
            } else if rule["properties"] != nil {
                problems.append("\(path).\(member.key): not in the schema")
            }
        }
        return problems
    }

    private func matches(_ value: JSONValue, _ type: JSONValue) -> Bool {
        switch (value, type) {
        case (.null, "null"), (.bool, "boolean"), (.integer, "integer"), (.integer, "number"), (.number, "number"),
            (.string, "string"), (.array, "array"), (.object, "object"):
            true
        default: false
        }
    }

    private func number(_ value: JSONValue) -> Double? {
        switch value {
        case .integer(let value): Double(value)
        case .number(let value): value
        default: nil
        }
    }
}
