package audittrail

import (
	"strconv"
	"time"

	"opdeck/internal/domain/audit"
	"opdeck/ui/draw"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
)

// openPage puts a page with a title over the list.
func (s *Screen) openPage(title, id string, fill func(w int) []string) {
	s.Open(id, func(w int) []string {
		return append([]string{s.env.Theme.Title.Render(draw.Cut(title, w)), ""}, fill(w)...)
	})
}

// show opens a record.
func (s *Screen) show(r record) {
	s.openPage("Audit record "+draw.Count(int(r.Seq)), r.id(), func(w int) []string { return s.record(r.Entry, w) })
}

// record draws all of a record. Texts are shown as they were, and exactly where
// they are odd.
func (s *Screen) record(e audit.Entry, w int) []string {
	th := s.env.Theme
	look := outcome(th, e)
	var out []string
	if e.Damaged {
		what := "The stored bytes are not those that were hashed. Nothing below can be trusted; "
		if e.Genuine() {
			what = "Below stands what was hashed, but " + e.Why + ": somebody wanted lists and searches to show something else; "
		}
		for _, l := range draw.Wrap(th.Signs.Bad+" "+what+s.keys.Verify.Help().Key+" names all bad records.", max(w, 1)) {
			out = append(out, th.Bad.Render(l))
		}
		out = append(out, "")
	}
	out = append(out, th.Tone(look.tone).Render(look.sign+" "+look.word)+"  "+th.Strong.Render(draw.Line(read(e.Event), 60)+times(e))+th.Dim.Render("  "+draw.Line(read(e.Code), 20)), "")
	p := []widget.Pair{{Value: "Act"}, {Label: "when", Value: draw.Time(e.At, s.env.Zone())}}
	p = append(p, say("summary", e.Summary)...)
	p = append(p, say("reason", e.Reason)...)
	p = append(p, say("phase", string(e.Phase))...)
	p = append(p, say("object", e.Object)...)
	p = append(p, say("id", e.ID)...)
	p = append(p, say("item", e.Item)...)
	p = append(p, say("name", e.Name)...)
	p = append(p, outcomePairs(e)...)
	p = append(p, personPairs(e)...)
	p = append(p, requestPairs(e)...)
	p = append(p, widget.Pair{Value: "Before and after"})
	p = append(p, digest("content seen", e.Before, "not noted")...)
	p = append(p, digest("content after", e.After, "not noted")...)
	p = append(p, digest("act", e.Act, "no act")...)
	p = append(p, widget.Pair{Value: "Chain"}, widget.Pair{Label: "record", Value: draw.Count(int(e.Seq))})
	p = append(p, say("uid", e.UID)...)
	p = append(p, say("intent", e.Ref)...)
	p = append(p, say("log", e.Chain)...)
	p = append(p, digest("hash", e.Hash, "none")...)
	p = append(p, digest("hash before", e.Prev, "none")...)
	p = append(p, say("process", e.Boot)...)
	p = append(p, say("build", e.Build)...)
	return append(out, widget.Pairs(th, p, w)...)
}

func outcomePairs(e audit.Entry) []widget.Pair {
	p := []widget.Pair{{Value: "Outcome"}}
	p = append(p, say("outcome", string(e.Outcome))...)
	if e.Status > 0 {
		p = append(p, widget.Pair{Label: "HTTP status", Value: strconv.Itoa(e.Status)})
	}
	p = append(p, say("rule", e.Rule)...)
	p = append(p, say("service said", e.Error)...)
	p = append(p, say("detail", e.Detail)...)
	if e.Took > 0 {
		p = append(p, widget.Pair{Label: "took", Value: draw.Took(time.Duration(e.Took) * time.Microsecond)})
	}
	if e.Count > 1 {
		p = append(p, widget.Pair{Label: "stands for", Value: draw.Count(int(e.Count)) + " attempts since " + draw.Line(read(e.Since), 40)})
	}
	if len(p) == 1 {
		return nil
	}
	return p
}

func personPairs(e audit.Entry) []widget.Pair {
	p := []widget.Pair{{Value: "Person"}}
	p = append(p, say("name", e.Actor.Name)...)
	p = append(p, say("role", e.Actor.Role)...)
	if e.Actor.Login != e.Actor.Name {
		p = append(p, say("login", e.Actor.Login)...)
	}
	p = append(p, say("key", e.Actor.Key)...)
	p = append(p, say("certificate", e.Actor.Serial)...)
	p = append(p, say("known as", e.Actor.Claim)...)
	p = append(p, say("via", e.Via)...)
	p = append(p, say("from", e.From)...)
	p = append(p, say("session", e.Sid)...)
	p = append(p, say("context", e.Context.Name)...)
	p = append(p, say("service", e.Context.BaseURL)...)
	return append(p, say("account", e.Context.Account)...)
}

func requestPairs(e audit.Entry) []widget.Pair {
	p := []widget.Pair{{Value: "Request"}}
	p = append(p, say("request id", e.Req)...)
	p = append(p, say("method", e.Method)...)
	p = append(p, say("path", e.Path)...)
	if e.Body != "" {
		p = append(p, digest("body", e.Body, "")...)
	}
	if e.Secret != "" {
		p = append(p, digest("secret", e.Secret, "")...)
	}
	if len(p) == 1 {
		return nil
	}
	return p
}

// say makes pairs of a text of a record, with what is odd about it; nothing
// when it is empty.
func say(label, stored string) []widget.Pair { return widget.Said(label, read(stored), "") }

// digest shows a hash in full; none is said.
func digest(label, hash, none string) []widget.Pair {
	if hash == "" {
		return []widget.Pair{{Label: label, Value: none, Tone: theme.Dim}}
	}
	return []widget.Pair{{Label: label, Value: read(hash).Line(128), Tone: theme.Dim, Long: true}}
}
