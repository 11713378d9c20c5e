package present

import (
	"strconv"
	"strings"
	"time"

	"opdeck/api"
	"opdeck/api/hook"
	"opdeck/internal/domain/receiver"
	"opdeck/internal/field"
	"opdeck/internal/format"
)

// HookSettings lists the service's webhook settings without the secret, named by the flags that change them.
func HookSettings(h api.HookSettings) []Fact {
	enabled := OnOff(h, "enabled", "enabled", h.Enabled)
	if enabled.Label = "webhooks"; !h.Enabled {
		enabled.Tone = Warn
	}
	out := append([]Fact{enabled}, Text("sent to", h.HookURL, "not set")...)
	out[1].Name = "url"
	key := "set, " + h.JWTSecret.String()
	switch {
	case !h.Knows("jwtSecret"):
		key = "not reported"
	case h.JWTSecret.Empty():
		key = "none"
	}
	return append(out, Fact{Label: "secret", Value: key}, OnOff(h, "operations", "hookOperation", h.HookOperation),
		OnOff(h, "customers", "hookCustomer", h.HookCustomer), OnOff(h, "accounts", "hookDepositAccount",
			h.HookDepositAccount),
		OnOff(h, "counterparties", "hookCounterparty", h.HookCounterparty))
}

// OnOff is a switch of the settings; it says so if the answer lacks it.
func OnOff(h api.HookSettings, label, member string, on bool) Fact {
	value := "off"
	switch {
	case !h.Knows(member):
		value = "not reported"
	case on:
		value = "on"
	}
	return Fact{Name: label, Label: label, Value: value}
}

// Meaning is the learnt meaning of a numeric code.
type Meaning struct {
	Mark          // the word
	Code   string // the number
	Weight string // evidence for the word and against it
	Seen   []string
}

// MeaningOf is the learnt meaning of a code, with each word that was seen with it.
func MeaningOf(m hook.Meaning) Meaning {
	out := Meaning{Mark: Mark{Look{SignGood, Good}, m.Word.Line(64)}, Code: strconv.FormatInt(m.Code, 10),
		Weight: "for " + strconv.Itoa(m.Evidence) + ", against " + strconv.Itoa(m.Contradictions)}
	switch {
	case m.Word == "":
		out.Mark = Mark{Look{SignUnknown, Bad}, "undecided"}
		out.Weight = strconv.Itoa(m.Contradictions) + " observations disagree"
	case m.Contradictions > 0:
		out.Look = Look{SignWarn, Warn}
	}
	for _, e := range m.All {
		seen := e.Word.Line(64) + ": " + strconv.Itoa(e.Count) + " seen, " + strconv.Itoa(e.Exact) + " exact matches"
		if e.Sample != "" {
			seen += ", for example " + e.Sample.Line(64)
		}
		out.Seen = append(out.Seen, seen)
	}
	return out
}

// MeaningColumns are the columns of what was learnt of codes.
var MeaningColumns = []Column[hook.Meaning]{
	textColumn("field", field.Column{}, func(m hook.Meaning) string { return safe(string(m.Field), 60) }),
	numberColumn("code", field.Column{}, func(m hook.Meaning) int64 { return m.Code }),
	column("word", field.Column{}, func(o Options, m hook.Meaning) Cell { return MeaningOf(m).Cell(o) }),
	numberColumn("seen", field.Column{}, func(m hook.Meaning) int64 { return int64(m.Evidence) }),
	numberColumn("against", field.Column{}, func(m hook.Meaning) int64 { return int64(m.Contradictions) }),
	textColumn("other words", field.Column{}, func(m hook.Meaning) string {
		var out []string
		for _, e := range m.All {
			if e.Word != m.Word {
				out = append(out, e.Word.Line(40)+" "+strconv.Itoa(e.Count))
			}
		}
		return strings.Join(out, ", ")
	}),
}

// RejectedColumns are the columns of a list of deliveries that were not accepted, in the context of this name.
func RejectedColumns(whose string) []Column[receiver.Rejection] {
	type rejection = receiver.Rejection
	return []Column[rejection]{
		textColumn("key", field.Column{}, func(x rejection) string { return x.Key() }),
		timeColumn("at", field.Column{}, exactSeconds, func(x rejection) time.Time { return x.At }),
		textColumn("context", field.Column{}, func(rejection) string { return safe(whose, 120) }),
		textColumn("from", field.Column{}, func(x rejection) string { return safe(string(x.Source), 100) }),
		numberColumn("answer", field.Column{}, func(x rejection) int64 { return int64(x.Status) }),
		textColumn("reason", field.Column{}, func(x rejection) string { return safe(x.Reason, 200) }),
		numberColumn("bytes", field.Column{}, func(x rejection) int64 { return x.Size }),
		textColumn("what to do", field.Column{}, func(x rejection) string { return safe(x.Detail, 2000) })}
}

// Rejected lists all facts of a rejected delivery except its body.
func Rejected(x receiver.Rejection) []Fact {
	out := []Fact{{Label: "answer", Value: strconv.Itoa(x.Status)}}
	out = append(out, Texts("reason", x.Reason, "what to do", x.Detail, "request", x.Request, "algorithm", x.Algorithm,
		"claims", strings.Join(x.Claims, " "))...)
	for _, h := range x.Header {
		out = append(out, Fact{Label: "header", Value: safe(h.Name, 60) + ": " + safe(h.Value, 200), Tone: Dim, Long: true})
	}
	size := format.Count(int(x.Size)) + " bytes"
	if x.Size >= 10_000 {
		size = format.Size(x.Size) + " (" + size + ")"
	}
	if kept := len(x.Body); int64(kept) < x.Size {
		size += "; the first " + format.Count(kept) + " are kept"
	}
	return append(out, Fact{Label: "body", Value: size})
}

// RejectedAt says which delivery was rejected, when, and from whom.
func RejectedAt(o Options, x receiver.Rejection) string {
	return x.Key() + "  " + format.Time(x.At, o.Zone) + "  " + safe(string(x.Source), 64)
}
