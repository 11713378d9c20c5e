package list

import (
	"strings"

	"opdeck/internal/present"
	"opdeck/ui/theme"
)

// Sign is a sign before or in a row, with its meaning.
type Sign struct {
	Sign func(*theme.Theme) string
	Tone theme.Tone
	Says string
}

// Warning is the sign of a row that needs attention.
func Warning(says string) Sign {
	return Sign{Sign: func(th *theme.Theme) string { return th.Signs.Warn }, Tone: theme.Warn, Says: says}
}

// Locked is the sign of a locked record.
func Locked(says string) Sign {
	return Sign{Sign: func(th *theme.Theme) string { return th.Signs.Locked }, Tone: theme.Warn, Says: says}
}

// LockUnknown is the sign of a record whose lock the service does not tell.
func LockUnknown() Sign {
	return Sign{Sign: func(*theme.Theme) string { return "?" }, Tone: theme.Warn,
		Says: "under lock: the service does not say whether it is locked"}
}

// StatusSigns are the signs of the service's status words, as theme.Status draws them.
func StatusSigns() []Sign {
	var out []Sign
	for _, words := range present.StatusWords() {
		out = append(out, Sign{Sign: func(th *theme.Theme) string { return th.Status(words[0]).Sign },
			Says: "status " + strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]})
	}
	return append(out, Sign{Sign: func(th *theme.Theme) string { return th.Status("").Sign },
		Says: "unknown status"})
}

// HelpTopic implements ui.HelpTopic: the language of the filter, and the signs of the rows.
func (l *List[T]) HelpTopic() (string, []string) {
	out := l.spec.Language.Guide()
	for i, s := range l.spec.Signs {
		if i == 0 {
			out = append(out, "", "Signs")
		}
		out = append(out, "  "+s.Sign(l.Env.Theme)+"  "+s.Says)
	}
	return "Filter ( / )", out
}
