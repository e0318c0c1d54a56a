#!/bin/sh
# manual.sh PROGRAM VERSION PURPOSE FILE.1.gz: writes the program's manual page. Its text is what --help prints, of the program and of
# each of its commands, so that nothing is written twice.
set -e
program=$1 version=$2 purpose=$3 file=$4
name=$(basename "$program")

# Turns what --help prints into sections of a page (groff_man(7)). $1: the command that printed it; empty: the program itself.
sections() {
    awk -v command="$1" '
        function plain(text) { # no letter of it means anything to roff, and no line breaks at a hyphen
            gsub(/\\/, "\\e", text)
            gsub(/-/, "\\-", text)
            return (text ~ /^[.\x27]/ ? "\\&" : "") text
        }
        function put(kind, text) { # kind: of the line, for the next one
            if (before == "blank" && kind != "heading" && kind != "item")
                print ".PP"
            print text
            before = kind
        }
        function example(text) { return ".nf\n" plain(text) "\n.fi" }
        function item(text) { return (before == "item" ? ".TQ" : ".TP") "\n\\fB" plain(text) "\\fR" }

        NR == 1 { put("heading", command == "" ? ".SH SYNOPSIS" : ".SH COMMAND " toupper(command)) }
        NR == 1, /^$/ { # usage: PROGRAM [flags], and the lines below it
            if (!/^$/)
                put("usage", example(substr($0, 8)))
            else if (command == "")
                put("heading", ".SH DESCRIPTION")
            else
                before = "blank"
            next
        }
        /^$/ { before = "blank"; next }
        /^[a-z].*:$/ { # a heading; sentences begin with a capital
            sub(/[,:].*/, "")
            put("heading", command == "" ? ".SH " toupper(plain($0)) : ".SS " plain($0))
            next
        }
        /^  --/ { put("item", item(substr($0, 3))); next }
        /^      / { put("text", plain(substr($0, 7))); next }
        /^  [a-z]+  / { # a command and what it does
            put("item", item($1))
            sub(/^  [a-z]+ +/, "")
            put("text", plain($0))
            next
        }
        /^  / { put("text", ".RS 4\n" example(substr($0, 3)) "\n.RE"); next }
        { put("text", plain($0)) }
    '
}

page() {
    printf '.TH %s 1 "" "Slipway %s" "Slipway"\n.SH NAME\n%s \\- %s\n' "$(echo "$name" | tr a-z A-Z)" "$version" "$name" "$purpose"
    help=$("$program" --help)
    printf '%s\n' "$help" | sections ''
    for command in $(printf '%s\n' "$help" | sed -n '/^commands.*:$/,/^$/ s/^  \([a-z]*\)  .*/\1/p'); do
        help=$("$program" "$command" --help)
        printf '%s\n' "$help" | sections "$command"
    done
}

text=$(page) # if the program fails, so does this script
printf '%s\n' "$text" | gzip -9n >"$file"
