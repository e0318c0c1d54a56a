"""Which struct fields have an effect: C read as text, as far as the question "does anything come of this value" needs it.

A value that is only copied, from a field to a field or through a parameter to a field, has no effect by that: the copy has to be
read, in a function that something calls. If this reader cannot follow a value, it assumes an effect: it misses flags, but does not
accuse wrongly. It does not expand macros, so a function that only a pasted name calls (ops.def) counts as one that nothing calls."""
import re

COMMENT_OR_STRING = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', re.S)
# clang-format puts the braces of a function, and of nothing else, in the first column.
FUNCTION = re.compile(r"^([A-Za-z][^;{}#=]*?\b(\w+)\(([^;{}]*)\))\n\{\n(.*?)^\}", re.M | re.S)
PROTOTYPE = re.compile(r"^[A-Za-z][^;{}#=]*\b\w+\([^;{}]*\)[^;{}=]*;", re.M)
COPIED = re.compile(r"(?<![=!<>+\-*/|&^%])=$")
NAME = re.compile(r"\w+")


class Function:
    def __init__(self, path, match):
        self.path, (header, self.name, parameters, self.body) = path, match.groups()
        self.names = set(NAME.findall(self.body))
        self.parameters = [NAME.findall(p)[-1] if NAME.findall(p) else "" for p in arguments(parameters)]
        self.whole = header + "\n" + self.body


def arguments(text):
    """Splits at the commas that no bracket holds."""
    parts, depth = [""], 0
    for c in text:
        depth += (c in "([{") - (c in ")]}")
        if c == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    return parts


def opening(text, at):
    """(position of the bracket that `at` stands in, commas between them); (-1, …) if it stands in none."""
    depth = commas = 0
    for i in range(at - 1, -1, -1):
        depth += (text[i] in ")]}") - (text[i] in "([{")
        commas += text[i] == "," and depth == 0
        if depth < 0 or (text[i] == ";" and depth == 0):
            return (i if depth < 0 else -1), commas
    return -1, commas


class Code:
    def __init__(self, sources):
        self.functions, self.outside, self.declared_anywhere = [], {}, {}
        for path, source in sources.items():
            source = COMMENT_OR_STRING.sub(lambda m: '""' if m[0][0] == '"' else " ", source)
            self.functions += [Function(path, m) for m in FUNCTION.finditer(source)]
            self.outside[path] = PROTOTYPE.sub("", FUNCTION.sub("", source))
        self.by_name = {}
        for function in self.functions:
            self.by_name.setdefault(function.name, []).append(function)
        self.live = self.find_live()

    def find_live(self):
        """The functions that a main, a table or a macro leads to."""
        todo = {"main"}.union(*(NAME.findall(text) for text in self.outside.values())) & self.by_name.keys()
        seen = set()
        while todo:
            name = todo.pop()
            seen.add(name)
            for function in self.by_name[name]:
                todo |= (function.names & self.by_name.keys()) - seen
        return [f for f in self.functions if f.name in seen]

    def types_of(self, name, function, member=False):
        """The structs that `name` may be, or point to; empty: unknown. member: it is a field, whatever the function's variables are."""
        declared = re.compile(r"struct (\w+)\b\s*(?:const)?\s*\**\s*(?:\w+,\s*\**)*" + name + r"\b")
        for text in () if member else (function.whole, self.outside[function.path]):
            if found := set(declared.findall(text)):
                return found
        if name not in self.declared_anywhere:
            self.declared_anywhere[name] = {t for text in self.outside.values() for t in declared.findall(text)}
        return self.declared_anywhere[name]

    def field_has_effect(self, field, types=frozenset(), path=None, seen=None):
        """Is a field of this name read, in structs of these types (empty: any), in this file (None: anywhere)?"""
        seen = set() if seen is None else seen
        if (field, types, path) in seen:
            return False
        seen.add((field, types, path))
        read = re.compile(r"(?:\b\w+(?:\[[^][]*\])?(?:\.|->))*\b(\w+)(?:\[[^][]*\])?(?:\.|->)" + field + r"\b(?!\s*=[^=])")
        for function in self.live:
            if field not in function.names or (path and function.path != path):
                continue
            for match in read.finditer(function.body):
                known = self.types_of(match[1], function, match.start(1) > match.start())
                if (not types or not known or known & types) and self.has_effect(function, match, seen):
                    return True
        return False

    def has_effect(self, function, match, seen):
        """Does the value at `match` do more than move on to where nothing reads it?"""
        body, left, right = function.body, function.body[:match.start()].rstrip(), function.body[match.end():].lstrip()
        if COPIED.search(left) and right[:1] in (",", ";", "}"):
            return self.copy_has_effect(function, left[:-1].rstrip(), seen)
        if left[-1:] in ("(", ",") and right[:1] in (",", ")"):
            at, index = opening(body, match.start())
            called = NAME.findall(body[:at])[-1:] if at >= 0 and re.search(r"\w$", body[:at]) else []
            if called and body[at] == "(" and called[0] in self.by_name:
                return any(self.variable_has_effect(f, f.parameters[index], seen) if index < len(f.parameters) else True
                           for f in self.by_name[called[0]])
        return True

    def copy_has_effect(self, function, target, seen):
        """target: what stands left of the `=`."""
        if member := re.search(r"(\w+)(?:\[[^][]*\])?(?:\.|->)(\w+)$", target):
            return self.field_has_effect(member[2], frozenset(self.types_of(member[1], function)), None, seen)
        if member := re.search(r"\.(\w+)$", target):
            before = target[:opening(target, len(target))[0]].rstrip()
            made = re.search(r"\(struct (\w+)\)$|struct (\w+) \w+(?:\[\w*\])?\s*=$", before)
            return self.field_has_effect(member[1], frozenset(filter(None, made.groups())) if made else frozenset(), None, seen)
        if variable := re.search(r"\b(\w+)$", target):
            return self.variable_has_effect(function, variable[1], seen)
        return True

    def variable_has_effect(self, function, name, seen):
        if (function, name) in seen:
            return False
        seen.add((function, name))
        uses = re.finditer(r"(?<![\w.>])" + name + r"\b(?!\s*=[^=])", function.body)
        declared = re.compile(r"\b(?:struct \w+|\w+_t|int|bool|double|float|char|size_t)\s*\**\s*(?:\w+,\s*\**)*$")
        return any(self.has_effect(function, use, seen) for use in uses if not declared.search(function.body[:use.start()]))
