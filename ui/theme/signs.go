package theme

import "strings"

// Signs are the characters that go with words; each is one cell wide.
type Signs struct {
	Cursor, Mark, Locked, Good, Bad, Wait, Warn, Unknown, Off, Info string
	Sep, Crumb, Up, Down, More                                      string
	Light, Heavy, Dotted                                            string // rules: test, production, sandbox
	TopLeft, TopRight, BottomLeft, BottomRight, Side                string // dialog frame
	Full, Empty                                                     string // gauges
	Spark                                                           []string
}

// Unicode returns the usual signs.
func Unicode() Signs {
	return Signs{
		Cursor: "▌", Mark: "●", Locked: "▣", Good: "✓", Bad: "✗", Wait: "◌", Warn: "!", Unknown: "?", Off: "–", Info: "•",
		Sep: "·", Crumb: "›", Up: "▲", Down: "▼", More: "…",
		Light: "─", Heavy: "━", Dotted: "┄",
		TopLeft: "╭", TopRight: "╮", BottomLeft: "╰", BottomRight: "╯", Side: "│",
		Full: "█", Empty: "░", Spark: strings.Split("▁▂▃▄▅▆▇█", ""),
	}
}

func ascii() Signs {
	return Signs{
		Cursor: ">", Mark: "*", Locked: "#", Good: "+", Bad: "x", Wait: "~", Warn: "!", Unknown: "?", Off: "-", Info: "o",
		Sep: ".", Crumb: ">", Up: "^", Down: "v", More: "~",
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
	End  bool // completed, failed and canceled are end states
}

// Status returns sign and tone for a status word of the service, compared
// without case. The service's set of words is open: a word not known here is
// Unknown, and is still shown as it came.
func (th *Theme) Status(word string) Status {
	s := th.Signs
	switch strings.ToUpper(strings.TrimSpace(word)) {
	case "PENDING", "NEW", "CREATED", "WAITING", "DRAFT":
		return Status{s.Wait, Warn, false}
	case "PROCESSING", "IN_PROGRESS", "RUNNING":
		return Status{s.Info, Info, false}
	case "SUCCESS", "COMPLETED", "DONE", "APPROVED", "ACTIVE":
		return Status{s.Good, Good, true}
	case "FAILED", "ERROR", "REJECTED", "DECLINED":
		return Status{s.Bad, Bad, true}
	case "CANCELED", "CANCELLED", "EXPIRED":
		return Status{s.Off, Dim, true}
	}
	return Status{s.Unknown, Plain, false}
}
