package present

import (
	"opdeck/internal/domain/approval"
	"opdeck/internal/format"
)

const (
	maxBody = 30  // lines of a body in a question
	oneLine = 200 // a body of at most so many bytes is on one line
)

// Decision is what a person reads who decides about a request. reason is that of a denial; "" for an approval.
func Decision(o Options, r approval.Request, reason string) []Fact {
	out := Judged(o, r)
	if reason != "" {
		out = append(out, Fact{Label: "your reason", Value: safe(reason, 2000), Long: true})
	}
	out = append(out, Fact{Label: "sends", Value: safe(r.Act.Method+" "+r.Act.Path, 2000), Long: true})
	return append(out, bodyFacts(r.Act.Body)...)
}

func bodyFacts(body []byte) []Fact {
	if len(body) == 0 {
		return []Fact{{Label: "body", Value: "none"}}
	}
	if len(body) <= oneLine {
		return []Fact{{Label: "body", Value: safe(string(body), oneLine), Long: true}}
	}
	var p []Fact
	lines, whole := format.JSON(body, maxBody)
	for i, l := range lines {
		label := "body"
		if i > 0 {
			label = "·"
		}
		p = append(p, Fact{Label: label, Value: safe(l, 2000), Long: true})
	}
	if !whole {
		p = append(p, Fact{Label: "·", Value: "… more; the request's page shows all of it"})
	}
	return p
}
