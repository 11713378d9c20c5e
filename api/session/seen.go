package session

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"opdeck/api/jsontree"
	"opdeck/api/untrusted"
)

// What came with a good status instead of a pair, as a clause about "it" that is safe to draw and holds no token.

// notJSON says what a text is instead of JSON.
func notJSON(text []byte) string {
	text = bytes.TrimSpace(text)
	if len(text) == 0 {
		return "it is empty"
	}
	start := strings.ToLower(string(text[:min(len(text), 100)]))
	if strings.HasPrefix(start, "<!doctype html") || strings.HasPrefix(start, "<html") {
		return "it is a web page" + beginning(text)
	}
	var first, second json.RawMessage
	decoder := json.NewDecoder(bytes.NewReader(text))
	if decoder.Decode(&first) != nil {
		return "it is not JSON" + beginning(text)
	}
	rest := bytes.TrimSpace(text[decoder.InputOffset():])
	if decoder.Decode(&second) == nil {
		return fmt.Sprintf("it has two JSON values, the second after %d bytes", len(text)-len(rest)) + beginning(text)
	}
	return fmt.Sprintf("after %d bytes of JSON it goes on with %s", len(text)-len(rest), sketch(rest))
}

// coded says why a content coding could not be undone.
func coded(encoding string, err error) string {
	var unknown *jsontree.CodingError
	if errors.As(err, &unknown) {
		return "its Content-Encoding is " + untrusted.Text(encoding).Line(40) + ", which opdeck does not read"
	}
	return "it cannot be unpacked"
}

// brokenOff says where an answer ended too early.
func brokenOff(raw []byte, err error) string {
	what := "it was cut off"
	var timeout net.Error
	if errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout() {
		what = "its end did not come in time"
	}
	return fmt.Sprintf("%s after %d bytes", what, len(raw)) + beginning(raw)
}

func beginning(text []byte) string {
	if text = bytes.TrimSpace(text); len(text) == 0 {
		return ""
	}
	return "; it begins with " + sketch(text)
}

// maxSketch bounds a sketch, in characters.
const maxSketch = 60

// sketch draws the beginning of a text without what may be secret: of text in quotes only the names of members remain,
// of words outside of them only short ones of letters that are no value of a name. Bytes that are no text are drawn as
// numbers.
func sketch(text []byte) string {
	in := text[:min(len(text), 4*maxSketch)]
	for len(in) < len(text) && len(in) > 0 && !utf8.RuneStart(text[len(in)]) {
		in = in[:len(in)-1]
	}
	if !utf8.Valid(in) || bytes.IndexByte(in, 0) >= 0 {
		return fmt.Sprintf("the bytes % x", text[:min(len(text), 4)])
	}
	var out strings.Builder
	value := false // a word here is the value of a name, or follows one that is
	for rest := string(in); rest != ""; {
		r, n := utf8.DecodeRuneInString(rest)
		part := rest[:n]
		switch {
		case r == '"':
			part = quotedText(rest)
			name := !value && len(part) > 1 && strings.HasSuffix(part, `"`) && named(part[1:len(part)-1], rest[len(part):])
			if rest = rest[len(part):]; name {
				out.WriteString(part)
			} else {
				out.WriteString(`"…"`)
			}
			continue
		case strings.ContainsRune(":=>", r):
			value = true
		case strings.ContainsRune(",;&{[(<\n", r):
			value = false
		case r == '/' && strings.HasSuffix(out.String(), "<"): // the end of an element
		case wordRune(r):
			part = rest[:max(n, len(rest)-len(strings.TrimLeftFunc(rest, wordRune)))]
			rest = rest[len(part):]
			if shown := value && slices.Contains(literals, part) || !value && (plainWord(part) || named(part, rest)); shown {
				out.WriteString(part)
			} else if value = true; !strings.HasSuffix(out.String(), "…") {
				out.WriteString("…")
			}
			continue
		}
		if rest = rest[n:]; !unicode.IsSpace(r) || !strings.HasSuffix(out.String(), "…") {
			out.WriteString(part)
		}
	}
	return "“" + untrusted.Text(strings.Join(strings.Fields(out.String()), " ")).Line(maxSketch) + "”"
}

// literals are values that are no secret.
var literals = []string{"true", "false", "null", "NaN", "Infinity", "-Infinity", "undefined", "None"}

func wordRune(r rune) bool {
	return r > unicode.MaxASCII || unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("_-.+/~%$@#*\\^`|", r)
}

// quotedText is the text in quotes that s begins with, to its end.
func quotedText(s string) string {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return s[:i+1]
		}
	}
	return s
}

// named reports whether a word is the name of the value that follows.
func named(word, rest string) bool {
	rest = strings.TrimLeft(rest, " \t\r\n")
	isName := len(word) <= 30 && !strings.ContainsFunc(word, func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsLetter(r) && r != '_'
	})
	return isName && (strings.HasPrefix(rest, ":") || strings.HasPrefix(rest, "=") && !strings.HasPrefix(rest, "=="))
}

// plainWord reports whether a word is too short or too plain for a token: up to twelve letters, or three digits.
func plainWord(s string) bool {
	other := func(is func(rune) bool) bool { return !strings.ContainsFunc(s, func(r rune) bool { return !is(r) }) }
	return len(s) <= 12 && other(unicode.IsLetter) || len(s) <= 3 && other(unicode.IsDigit)
}
