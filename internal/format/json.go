package format

import (
	"bytes"
	"encoding/json"
	"strings"

	"opdeck/api/untrusted"
)

const (
	// deepest is the level from which on JSON is not indented further: ten thousand levels would be a hundred million
	// spaces.
	deepest = 64
	// widest bounds a shown line of JSON, in runes.
	widest = 4096
)

// Indent is json.Indent with two spaces a level for valid JSON, but deeper than level 64 it does not indent further.
func Indent(doc []byte) []byte {
	var b bytes.Buffer
	b.Grow(len(doc) + len(doc)/4)
	depth, empty := 0, false // empty: an object or list has begun and has no element yet
	line := func() {
		b.WriteByte('\n')
		for range min(depth, deepest) {
			b.WriteString("  ")
		}
	}
	for i := 0; i < len(doc); i++ {
		c := doc[i]
		if c == ' ' || c == '\t' || c == '\n' || c == '\r' {
			continue
		}
		ends := c == '}' || c == ']'
		if ends {
			depth = max(depth-1, 0)
		}
		if empty != ends { // the first element of a level, or the end of a non-empty one
			line()
		}
		if empty = false; c == '"' {
			end := i + 1
			for ; end < len(doc) && doc[end] != '"'; end++ {
				if doc[end] == '\\' {
					end++
				}
			}
			end = min(end, len(doc)-1)
			b.Write(doc[i : end+1])
			i = end
			continue
		}
		b.WriteByte(c)
		switch c {
		case '{', '[':
			depth++
			empty = true
		case ',':
			line()
		case ':':
			b.WriteByte(' ')
		}
	}
	return b.Bytes()
}

// JSON formats a JSON document as safe lines (Indent). Numbers, order and unknown fields are unchanged. Text that is
// not JSON is shown line by line, cleaned. It returns at most max lines; whole is false if any were omitted or cut.
func JSON(doc []byte, max int) (lines []string, whole bool) {
	rest := string(doc)
	if json.Valid(doc) {
		rest = string(Indent(doc))
	}
	whole = true
	for rest != "" {
		if len(lines) == max {
			return lines, false
		}
		var l string
		l, rest, _ = strings.Cut(rest, "\n")
		whole = whole && len(l) <= widest
		lines = append(lines, untrusted.Text(l).Line(widest))
	}
	return lines, whole
}
