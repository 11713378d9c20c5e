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
	out := widget.NewText(th, w)
	if e.Damaged {
		what := "The stored bytes are not those that were hashed. Nothing below can be trusted; "
		if e.Genuine() {
			what = "Below stands what was hashed, but " + e.Why + ": somebody wanted lists and searches to show something else; "
		}
		out.Say(theme.Bad, th.Signs.Bad+" "+what+s.keys.Verify.Help().Key+" names all bad records.")
		out.Gap()
	}
	out.Add(th.Tone(look.tone).Render(look.sign+" "+look.word)+"  "+th.Strong.Render(draw.Line(read(e.Event), 60)+
		times(e))+th.Dim.Render("  "+draw.Line(read(e.Code), 20)), "")
	p := []widget.Pair{{Value: "Act"}, {Label: "when", Value: draw.Time(e.At, s.env.Zone())}}
	p = append(p, say("summary", e.Summary, "reason", e.Reason, "phase", string(e.Phase), "object", e.Object, "id", e.ID,
		"item", e.Item, "name", e.Name)...)
	p = append(p, outcomePairs(e)...)
	p = append(p, personPairs(e)...)
	p = append(p, requestPairs(e)...)
	p = append(p, widget.Pair{Value: "Before and after"})
	p = append(p, digest("content seen", e.Before, "not noted")...)
	p = append(p, digest("content after", e.After, "not noted")...)
	p = append(p, digest("act", e.Act, "no act")...)
	p = append(p, widget.Pair{Value: "Chain"}, widget.Pair{Label: "record", Value: draw.Count(int(e.Seq))})
	p = append(p, say("uid", e.UID, "intent", e.Ref, "log", e.Chain)...)
	p = append(p, digest("hash", e.Hash, "none")...)
	p = append(p, digest("hash before", e.Prev, "none")...)
	p = append(p, say("process", e.Boot, "build", e.Build)...)
	out.Pairs(p)
	return out.Lines
}

func outcomePairs(e audit.Entry) []widget.Pair {
	p := []widget.Pair{{Value: "Outcome"}}
	p = append(p, say("outcome", string(e.Outcome))...)
	if e.Status > 0 {
		p = append(p, widget.Pair{Label: "HTTP status", Value: strconv.Itoa(e.Status)})
	}
	p = append(p, say("rule", e.Rule, "service said", e.Error, "detail", e.Detail)...)
	if e.Took > 0 {
		p = append(p, widget.Pair{Label: "took", Value: draw.Duration(time.Duration(e.Took) * time.Microsecond)})
	}
	if e.Count > 1 {
		p = append(p, widget.Pair{Label: "stands for", Value: draw.Count(int(e.Count)) + " attempts since " +
			draw.Line(read(e.Since), 40)})
	}
	if len(p) == 1 {
		return nil
	}
	return p
}

func personPairs(e audit.Entry) []widget.Pair {
	login := e.Actor.Login
	if login == e.Actor.Name {
		login = ""
	}
	return append([]widget.Pair{{Value: "Person"}}, say("name", e.Actor.Name, "role", e.Actor.Role, "login", login, "key",
		e.Actor.Key, "certificate", e.Actor.Serial,
		"known as", e.Actor.Claim, "via", e.Via, "from", e.From, "session", e.Sid,
		"context", e.Context.Name, "service", e.Context.BaseURL, "account", e.Context.Account)...)
}

func requestPairs(e audit.Entry) []widget.Pair {
	p := []widget.Pair{{Value: "Request"}}
	p = append(p, say("request id", e.Req, "method", e.Method, "path", e.Path)...)
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

// say makes pairs of labels and texts of a record, with what is odd about them;
// empty ones are left out.
func say(labelsAndTexts ...string) []widget.Pair {
	for i := 1; i < len(labelsAndTexts); i += 2 {
		labelsAndTexts[i] = string(read(labelsAndTexts[i]))
	}
	return widget.SaidAll(labelsAndTexts...)
}

// digest shows a hash in full; none is said.
func digest(label, hash, none string) []widget.Pair {
	if hash == "" {
		return []widget.Pair{{Label: label, Value: none, Tone: theme.Dim}}
	}
	return []widget.Pair{{Label: label, Value: read(hash).Line(128), Tone: theme.Dim, Long: true}}
}
