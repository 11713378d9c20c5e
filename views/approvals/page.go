package approvals

import (
	"opdeck/api"
	"opdeck/api/untrusted"
	"opdeck/internal/act"
	"opdeck/internal/domain/approval"
	"opdeck/ui/draw"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
)

// show opens one request, by id: what is said of it follows the list.
func (s *Screen) show(id string) {
	s.Open(id, func(w int) []string {
		r, ok := s.rows.Find(id)
		if !ok {
			return []string{s.env.Theme.Dim.Render(draw.Cut("This request is not among the newest any more. "+s.env.Keys.Global.Back.Help().Key+" goes back.", w))}
		}
		return s.lines(r, w)
	})
}

// lines draws a request: how it stands, what it would change, exactly what would
// be sent, who asks and who decided.
func (s *Screen) lines(r approval.Request, w int) []string {
	th, now := s.env.Theme, s.env.Now()
	st := state(r, now)
	sign, tone := stateStyle(th, st)
	out := widget.NewText(th, w)
	out.Title("Request " + line(r.ID, 20) + ": " + what(r.Act))
	head := th.Tone(tone).Render(sign+" "+string(st)) + th.Dim.Render("  "+meaning(st))
	if waits(r) && now.Before(r.Expires) {
		left, _ := draw.Until(r.Expires, now)
		head += th.Warn.Render("  lapses in " + left)
	}
	out.Add("", head)
	if why := s.why(r); why != "" && st == approval.Open {
		out.Say(theme.Warn, th.Signs.Off+" "+why)
	} else if st == approval.Open {
		out.Cut(theme.Dim, s.keys.Approve.Help().Key+" approves, "+s.keys.Deny.Help().Key+" denies; both ask first.")
	}
	out.Title("What it would change")
	out.Say(theme.Plain, act.Consequence(r.Act.Kind))
	out.Title("Exactly what would be sent")
	out.Say(theme.Strong, line(r.Act.Method, 10)+" "+line(r.Act.Path, 400))
	if len(r.Act.Body) == 0 {
		out.Under(theme.Dim, "no body")
	}
	out.JSON(r.Act.Body, 2, 200, "cut here; "+s.env.Keys.Item.Raw.Help().Key+" shows all of it")
	out.Gap()
	out.Pairs(s.pairs(r))
	return out.Lines
}

func (s *Screen) pairs(r approval.Request) []widget.Pair {
	zone, now := s.env.Zone(), s.env.Now()
	p := []widget.Pair{{Value: "Act"}}
	p = append(p, actPairs(r.Act)...)
	p = append(p, widget.Pair{Label: "digest", Value: line(r.Digest, 128), Tone: theme.Dim, Long: true})
	p = append(p, widget.Pair{Value: "Asked by"})
	p = append(p, personPairs(r.Requester)...)
	p = append(p, say("reason", r.Act.Reason, "none given")...)
	p = append(p, widget.Pair{Label: "asked", Value: draw.TimeAgo(r.Created, now, zone)}, widget.Pair{Label: "lapses", Value: draw.Time(r.Expires, zone)})
	if r.Decider == nil {
		return p
	}
	p = append(p, widget.Pair{Value: "Decided by"})
	p = append(p, personPairs(*r.Decider)...)
	p = append(p, widget.Pair{Label: "decided", Value: draw.Time(r.Decided, zone)})
	p = append(p, say("comment", r.Comment, "none")...)
	if !r.Spent.IsZero() {
		p = append(p, widget.Pair{Label: "used", Value: draw.Time(r.Spent, zone)}, widget.Pair{Label: "outcome", Value: verdict(r.Verdict)})
	}
	return p
}

func verdict(v api.Verdict) string {
	switch v {
	case "", api.Unclear:
		return "not known yet"
	case api.NotSeen:
		return "not seen in time"
	}
	return line(string(v), 20)
}

// actPairs is what an act is about and what its requester saw.
func actPairs(a api.Act) []widget.Pair {
	p := widget.SaidEach("–", "act", string(a.Kind), "summary", a.Summary,
		"object", a.Object, "id", a.ID)
	p = append(p, widget.SaidAll("item", a.Item, "name", a.Name)...)
	p = append(p, say("content seen", a.Seen, "not noted")...)
	if a.SecretDigest != "" {
		p = append(p, say("secret or file", "sha256 "+a.SecretDigest, "")...)
	}
	return p
}

func personPairs(who approval.Person) []widget.Pair {
	p := say("name", who.Name, "–")
	p = append(p, say("role", string(who.Role), "–")...)
	login := who.Login
	if login == who.Name {
		login = ""
	}
	return append(p, widget.SaidAll("login", login, "key", who.Key, "certificate", who.Serial, "known as", who.Claim(), "via", who.Via, "from", who.From)...)
}

// say makes pairs of a text from outside, with what is odd about it.
func say(label, s, none string) []widget.Pair { return widget.Said(label, untrusted.Text(s), none) }
