package capsule

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

// LogLine is what a capsule keeps of a line of the program's log: never a text that may come from outside.
type LogLine struct {
	At    time.Time         `json:"at"`
	Level string            `json:"level"`
	Says  string            `json:"says"` // "" where the message is not one of a few plain words
	Attrs map[string]string `json:"attrs,omitempty"`
}

// keptAttrs are the attributes whose words and numbers are kept.
var keptAttrs = []string{"class", "kind", "phase", "status", "took", "route", "method", "reason", "part", "generation",
	"outcome", "state", "cause", "severity", "held_back", "line", "count"}

const maxLog = 5000 // lines, the newest ones

// Log reads the newest lines of a log from since on.
func Log(r io.Reader, since time.Time) ([]LogLine, error) {
	var out []LogLine
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 64<<10), maxLine)
	for lines.Scan() {
		l, ok := logLine(lines.Text())
		if !ok || l.At.Before(since) {
			continue
		}
		if out = append(out, l); len(out) > 2*maxLog {
			out = slices.Clone(out[maxLog:])
		}
	}
	return out[max(0, len(out)-maxLog):], lines.Err()
}

// attributes reads a line of the log in either form.
func attributes(s string) map[string]string {
	out := map[string]string{}
	if strings.HasPrefix(s, "{") {
		var m map[string]any
		if json.Unmarshal([]byte(s), &m) == nil {
			for k, v := range m {
				out[k] = fmt.Sprint(v)
			}
		}
		return out
	}
	for s != "" {
		key, rest, found := strings.Cut(s, "=")
		if !found {
			break
		}
		value := ""
		if quoted, err := strconv.QuotedPrefix(rest); err == nil && strings.HasPrefix(rest, `"`) {
			value, _ = strconv.Unquote(quoted)
			rest = strings.TrimPrefix(rest[len(quoted):], " ")
		} else {
			value, rest, _ = strings.Cut(rest, " ")
		}
		out[key], s = value, rest
	}
	return out
}

func logLine(s string) (l LogLine, ok bool) {
	attrs := attributes(s)
	at, err := time.Parse(time.RFC3339Nano, attrs["time"])
	if err != nil {
		return l, false
	}
	l = LogLine{At: at, Level: string(Word(strings.ToLower(attrs["level"]))), Attrs: map[string]string{}}
	if msg := attrs["msg"]; plainWords(msg) {
		l.Says = msg
	}
	for _, key := range keptAttrs {
		if v := attrs[key]; v != "" && (wordShape.MatchString(v) || number(v)) {
			l.Attrs[key] = v
		} else if key == "route" && v != "" {
			l.Attrs[key] = Route(v)
		}
	}
	return l, true
}

// number reports whether a value is a small number or a duration.
func number(v string) bool {
	if n, err := strconv.Atoi(v); err == nil {
		return n > -100_000 && n < 100_000
	}
	_, err := time.ParseDuration(v)
	return err == nil && len(v) < 20
}

// plainWords reports whether a message is a few words in lower case, as ours are.
func plainWords(s string) bool {
	words := strings.Fields(s)
	return len(s) <= 80 && len(words) > 0 && len(words) <= 12 &&
		!slices.ContainsFunc(words, func(w string) bool { return !wordShape.MatchString(strings.TrimRight(w, ".,:;")) })
}
