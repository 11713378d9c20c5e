package filter

import (
	"fmt"
	"strings"
)

// guideWidth bounds the lines of Guide, in cells, except for longer words: the help fits a window of 80.
const guideWidth = 68

// Guide describes the language in short lines for a help screen: the grammar, then the fields with examples.
func (t *Table[T]) Guide() []string {
	var out []string
	for _, line := range strings.Split(grammar, "\n") {
		name, rest, ok := strings.Cut(line, "  ")
		if rest = strings.TrimSpace(rest); !ok || strings.HasPrefix(line, " ") {
			name, rest = "", strings.TrimSpace(line)
		}
		if name == "" && len(out) == 0 {
			out = append(out, fold(rest, 0)...)
			continue
		}
		lines := fold(rest, 14)
		if len(name) < 13 {
			lines[0] = fmt.Sprintf("%-14s", name) + lines[0][14:]
		} else {
			lines = append([]string{name}, lines...)
		}
		out = append(out, lines...)
	}
	out = append(out, "")
	for _, r := range t.Rows() {
		out = append(out, fmt.Sprintf("%-30s %s", r.Name, r.Example))
		out = append(out, fold(r.Help, 2)...)
	}
	return out
}

// fold wraps a line between words and indents each part.
func fold(s string, indent int) []string {
	var out []string
	line := ""
	for _, word := range strings.Fields(s) {
		if line != "" && indent+len(line)+1+len(word) > guideWidth {
			out = append(out, strings.Repeat(" ", indent)+line)
			line = ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	return append(out, strings.Repeat(" ", indent)+line)
}
