# Completion of bash for Slipway's programs: commands, flags and the words that a flag allows, as the program's --help lists them.
_slipway() {
    local program=$1 word=$2 flag=${COMP_WORDS[COMP_CWORD - 1]} command="" help known
    # Bash takes --flag=value for three words.
    if [ "$word" = "=" ]; then
        word=""
    elif [ "$flag" = "=" ]; then
        flag=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    help=$("$program" --help 2>/dev/null)
    known=$(sed -n '/^commands.*:$/,/^$/ s/^  \([a-z]*\)  .*/\1/p' <<<"$help")
    if [ "$COMP_CWORD" -gt 1 ] && grep -qx -- "${COMP_WORDS[1]}" <<<"$known"; then
        command=${COMP_WORDS[1]}
        help=$("$program" "$command" --help 2>/dev/null)
    fi
    if [[ $word == -* ]]; then
        known=$(sed -n 's/^  \(--[a-z0-9_]*\)$/\1/p; s/^  --\[no\]\([a-z0-9_]*\).*/--\1 --no\1/p; s/^  \(--[a-z0-9_]*=\).*/\1/p' <<<"$help")
    elif [[ $flag == --* ]]; then
        known=$(sed -n "s/^  $flag=.* one of: //p" <<<"$help")
    elif [ "$COMP_CWORD" -gt 1 ]; then
        known=""
    fi
    # Without any, bash completes the names of files.
    mapfile -t COMPREPLY < <(compgen -W "$known" -- "$word")
    [[ ${#COMPREPLY[@]} -ne 1 || ${COMPREPLY[0]} != *= ]] || compopt -o nospace 2>/dev/null
}
complete -o default -F _slipway pstrain modelserver modelclient savedmodel
