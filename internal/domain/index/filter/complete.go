package filter

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Suggestion is one completion at the cursor: it replaces the bytes From..To of the input by Text.
type Suggestion struct {
	Text     string
	From, To int
	Help     string // one line; empty for values
}

// Seen returns values of a field, by its main name, that begin with (or contain) typed, most frequent first; it may
// return nil.
type Seen func(field, typed string) []string

const maxSuggestions = 12

// Complete suggests completions at cursor (a byte offset): fields, fixed values, seen values. The filter need not be
// valid yet.
func (t *Table[T]) Complete(input string, cursor int, seen Seen) []Suggestion {
	cursor = min(max(cursor, 0), len(input))
	for cursor > 0 && cursor < len(input) && !utf8.RuneStart(input[cursor]) {
		cursor--
	}
	from := termStart(input[:cursor])
	word := input[from:cursor]
	for strings.HasPrefix(word, "-") || strings.HasPrefix(word, "(") {
		word = word[1:]
		from++
	}
	i := strings.IndexAny(word, ":=<>")
	if i < 0 {
		return t.completeName(word, from, cursor)
	}
	at, ok := t.byName[strings.ToLower(strings.TrimSuffix(word[:i], "!"))]
	if !ok {
		return nil
	}
	for i < len(word) && strings.IndexByte(":=<>", word[i]) >= 0 {
		i++
	}
	if c := strings.LastIndexAny(word, ",|"); c >= i && !strings.Contains(word[i:], `"`) {
		i = c + 1
	}
	return t.completeValue(t.fields[at], word[i:], from+i, cursor, seen)
}

// termStart is the start of the last term: after the last unquoted space.
func termStart(s string) int {
	start, in := 0, false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && in:
			i++
		case c == '"':
			in = !in
		case !in && (c == ' ' || c == '\t' || c == '(' || c == ')' || c == '\n'):
			start = i + 1
		}
	}
	return start
}

func (t *Table[T]) completeName(word string, from, to int) []Suggestion {
	typed := strings.ToLower(word)
	var out []Suggestion
	for _, f := range t.Fields() {
		begins := func(name string) bool { return strings.HasPrefix(name, typed) }
		if !begins(f.Name) && !slices.ContainsFunc(f.Aliases, begins) {
			continue
		}
		op := ":"
		if f.Kind.ordered() {
			op = ">="
		}
		out = append(out, Suggestion{Text: f.Name + op, From: from, To: to, Help: f.Help})
	}
	slices.SortStableFunc(out, func(a, b Suggestion) int { // main names before aliases
		return cmp.Compare(prefixRank(a.Text, typed), prefixRank(b.Text, typed))
	})
	return out
}

func prefixRank(s, typed string) int {
	if strings.HasPrefix(s, typed) {
		return 0
	}
	return 1
}

func (t *Table[T]) completeValue(f Field[T], typed string, from, to int, seen Seen) []Suggestion {
	typed = strings.Trim(typed, `"`)
	known := slices.Clone(f.Values)
	switch {
	case f.Kind == Time:
		known = []string{"today", "yesterday", "1h", "24h", "7d", "30d"}
	case seen != nil && f.Kind != Flag:
		known = append(known, seen(f.Name, typed)...)
	}
	var begins, holds []Suggestion
	met := map[string]bool{}
	for _, v := range known {
		folded := Fold(v)
		if met[folded] || folded == "" {
			continue
		}
		met[folded] = true
		s := Suggestion{Text: quote(v, Text), From: from, To: to}
		switch {
		case strings.HasPrefix(folded, Fold(typed)):
			begins = append(begins, s)
		case strings.Contains(folded, Fold(typed)):
			holds = append(holds, s)
		}
	}
	begins = append(begins, holds...)
	return begins[:min(len(begins), maxSuggestions)]
}
