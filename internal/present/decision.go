package present

import (
	"opdeck/internal/domain/approval"
	"opdeck/internal/format"
)

const (
	maxBody = 30  // lines of a body in a question
	oneLine = 200 // a body of at most so many bytes is on one line
)

// Decision lists the facts in the question about a decision on a request. reason is that of a denial; "" for an
// approval.
func Decision(r approval.Request, reason string) []Fact {
	p := []Fact{{Label: "asked by", Value: safe(r.Requester.Name, 120) + ", " + safe(string(r.Requester.Role), 40)},
		{Label: "sends",
			Value: safe(r.Act.Method+" "+r.Act.Path, 2000), Long: true}}
	if r.Act.Reason != "" {
		p = append(p, Fact{Label: "their reason", Value: safe(r.Act.Reason, 2000), Long: true})
	}
	if reason != "" {
		p = append(p, Fact{Label: "your reason", Value: safe(reason, 2000), Long: true})
	}
	p = append(p, bodyFacts(r.Act.Body)...)
	for _, x := range []struct{ label, value string }{{safe(r.Act.Object, 20), r.Act.ID}, {"item", r.Act.Item},
		{"name", r.Act.Name}, {"content shown", r.Act.Seen},
		{"secret or file", r.Act.SecretDigest}, {"digest of all", r.Digest}} {
		if x.value != "" {
			p = append(p, Fact{Label: x.label, Value: safe(x.value, 2000), Long: true})
		}
	}
	return p
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
