package theme

import (
	"slices"
	"strings"
)

// Signs are the characters that go with words; each is one cell wide.
type Signs struct {
	Cursor, Mark, Locked, Good, Bad, Wait, Warn, Unknown, Off, Info string
	Sep, Crumb, Before, Parent, Up, Down, More                      string
	Light, Heavy, Dotted                                            string // rules: test, production, sandbox
	TopLeft, TopRight, BottomLeft, BottomRight, Side                string // dialog frame
	Full, Empty                                                     string // gauges
	Spark                                                           []string
}

// Unicode returns the usual signs.
func Unicode() Signs {
	return Signs{
		Cursor: "▌", Mark: "●", Locked: "▣", Good: "✓", Bad: "✗", Wait: "◌", Warn: "!", Unknown: "?", Off: "–", Info: "•",
		Sep: "·", Crumb: "›", Before: "‹", Parent: "›", Up: "▲", Down: "▼", More: "…",
		Light: "─", Heavy: "━", Dotted: "┄",
		TopLeft: "╭", TopRight: "╮", BottomLeft: "╰", BottomRight: "╯", Side: "│",
		Full: "█", Empty: "░", Spark: strings.Split("▁▂▃▄▅▆▇█", ""),
	}
}

func ascii() Signs {
	return Signs{
		Cursor: ">", Mark: "*", Locked: "#", Good: "+", Bad: "x", Wait: "~", Warn: "!", Unknown: "?", Off: "-", Info: "o",
		Sep: ".", Crumb: ">", Before: "<", Parent: "&", Up: "^", Down: "v", More: "~",
		Light: "-", Heavy: "=", Dotted: ".",
		TopLeft: "+", TopRight: "+", BottomLeft: "+", BottomRight: "+", Side: "|",
		Full: "#", Empty: ".", Spark: strings.Split("_.:-=+*#", ""),
	}
}

// Sign tells by its shape what a tone tells by colour.
func (th *Theme) Sign(t Tone) string {
	switch t {
	case Good:
		return th.Signs.Good
	case Warn:
		return th.Signs.Warn
	case Bad:
		return th.Signs.Bad
	}
	return th.Signs.Sep
}

// Status is how a state word is drawn: never by colour alone.
type Status struct {
	Sign string // one cell
	Tone Tone
}

// statuses are the words that are known, and how they look.
var statuses = []struct {
	words []string
	look  func(Signs) Status
}{
	{[]string{"PENDING", "NEW", "CREATED", "WAITING", "DRAFT"}, func(s Signs) Status { return Status{s.Wait, Warn} }},
	{[]string{"PROCESSING", "IN_PROGRESS", "RUNNING"}, func(s Signs) Status { return Status{s.Info, Info} }},
	{[]string{"SUCCESS", "COMPLETED", "DONE", "APPROVED", "ACTIVE"}, func(s Signs) Status { return Status{s.Good, Good} }},
	{[]string{"FAILED", "ERROR", "REJECTED", "DECLINED"}, func(s Signs) Status { return Status{s.Bad, Bad} }},
	{[]string{"CANCELED", "CANCELLED", "EXPIRED"}, func(s Signs) Status { return Status{s.Off, Dim} }},
}

// StatusWords are the status words that share a look, look by look.
func StatusWords() [][]string {
	out := make([][]string, len(statuses))
	for i, s := range statuses {
		out[i] = s.words
	}
	return out
}

// Status returns sign and tone for a status word of the service, compared
// without case. The service's set of words is open: a word not known here is
// Unknown, and is still shown as it came.
func (th *Theme) Status(word string) Status {
	word = strings.ToUpper(strings.TrimSpace(word))
	for _, s := range statuses {
		if slices.Contains(s.words, word) {
			return s.look(th.Signs)
		}
	}
	return Status{th.Signs.Unknown, Plain}
}
