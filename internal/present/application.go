package present

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"opdeck/api"
	"opdeck/api/untrusted"
	"opdeck/internal/domain/journey"
	"opdeck/internal/domain/mask"
	"opdeck/internal/format"
)

// Application is every member of an application by its path; none where there is no application.
func Application(o Options, a api.Application) []Fact {
	body := a.Individual
	switch a.Kind() {
	case "":
		return nil
	case api.Corporate:
		body = a.Corporate
	}
	return flat(o, "", body)
}

// flat are nested members as facts, in the order of their paths; "application." begins each and is left out.
func flat(o Options, path string, raw json.RawMessage) []Fact {
	var obj map[string]json.RawMessage
	var arr []json.RawMessage
	var out []Fact
	switch {
	case json.Unmarshal(raw, &obj) == nil && obj != nil:
		for _, name := range slices.Sorted(maps.Keys(obj)) {
			out = append(out, flat(o, strings.TrimPrefix(path+"."+name, "."), obj[name])...)
		}
	case json.Unmarshal(raw, &arr) == nil && arr != nil:
		for i, v := range arr {
			out = append(out, flat(o, strings.TrimPrefix(path+"."+format.Count(i+1), "."), v)...)
		}
	default:
		out = []Fact{leaf(o, strings.TrimPrefix(untrusted.Text(path).Line(60), "application."), raw)}
	}
	return out[:min(len(out), maxMore)]
}

func leaf(o Options, label string, raw json.RawMessage) Fact {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		text = string(raw)
	}
	u := untrusted.Text(text)
	shown := mask.Detail(api.Detail{Label: label, Value: untrusted.Text(u.Line(300))}, o.Masked)
	switch {
	case u == "":
		return Fact{Name: label, Label: memberLabel(label), Value: "–", Tone: Dim, Long: true}
	case u.Flags().Suspicious():
		odd := mask.Detail(api.Detail{Label: label, Value: untrusted.Text(format.Suspicious(u))}, o.Masked)
		return Fact{Name: label, Label: memberLabel(label), Value: odd.Line(1200), Tone: Warn, Long: true}
	}
	return Fact{Name: label, Label: memberLabel(label), Value: shown.Line(300), Long: true}
}

// JourneyProblems say which records of a verification could not be read.
func JourneyProblems(j journey.Journey) []Sentence {
	var out []Sentence
	for _, missing := range []string{j.NoRecord, j.Problem} {
		if missing != "" {
			out = append(out, Sentence{Look{SignWarn, Warn}, safe(missing, 2000)})
		}
	}
	return out
}

// LinkFor says for whom a link is and how often it works.
const LinkFor = "for the customer's browser; works once"

// LinkLeft says how long a link works that ends at until.
func LinkLeft(o Options, until time.Time) Sentence {
	if !o.Now.Before(until) {
		return Sentence{Look{SignBad, Bad}, "has expired"}
	}
	left, _ := format.Until(until, o.Now)
	return Sentence{Look{SignGood, Good}, "expires in " + left}
}
